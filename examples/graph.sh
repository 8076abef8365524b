#!/bin/sh
# A graph as a matrix: degrees, triangles, distances over two edges.
set -eu

graph=data/4elt.mtx.gz

# How many neighbours each vertex has: entries count as 1.
tamis run 'd(i) = sum(j, A(i,j) != 0)' -i "A=$graph"

# Triangles: closed walks of three edges, of which each has six.
tamis run 't = sum(i, j, k, A(i,j) * A(j,k) * A(k,i)) / 6' -i "A=$graph"

# Neighbours that the ends of each edge share.
tamis run 'S(i,j) = A(i,j) * A(i,k) * A(j,k)' -i "A=$graph" -f S=csr

# The shortest ways over at most two edges: no edge is infinitely far.
tamis run 'D(i,j) = min(A(i,j), min(k, A(i,k) + A(k,j)))' -f 'A=csr{fill: inf}' -i A=data/airfoil.mtx.gz
