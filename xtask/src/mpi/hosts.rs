//! Two hosts on one machine: network namespaces that a pair of virtual devices joins, and a stand-in for `ssh`.
//!
//! ```text
//! 10.77.0.1 tamis-a:tamis-a ==== tamis-b:tamis-b 10.77.0.2
//! ```

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Namespaces, each with a device of its name.
const NAMES: [&str; 2] = ["tamis-a", "tamis-b"];
const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];
const NETWORK: &str = "10.77.0.0/24";

/// What launchers call instead of `ssh`: skips options, and runs a command on a host. Hosts differ in their names, by
/// which Open MPI chooses how ranks gather; with one name, some choose otherwise than others, and wait for ever.
const SSH: &str = "#!/bin/sh
while [ \"${1#-}\" != \"$1\" ]; do shift; done
case $1 in 10.77.0.1) name=tamis-a;; *) name=tamis-b;; esac
shift
exec ip netns exec $name unshare --uts sh -c \"hostname $name; $*\"
";

/// The hosts, as long as this lives.
pub struct Hosts {
    ssh: PathBuf,
}

impl Hosts {
    /// Makes them, which takes the rights of an administrator; a folder for files of ours.
    pub fn new(folder: &Path) -> Result<Hosts, String> {
        let hosts = Hosts { ssh: folder.join("ssh") };
        fs::write(&hosts.ssh, SSH).map_err(|error| error.to_string())?;
        let may_run = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&hosts.ssh, may_run).map_err(|error| error.to_string())?;
        NAMES.iter().try_for_each(|name| ip(&format!("netns add {name}")))?;
        let [a, b] = NAMES;
        ip(&format!("link add {a} netns {a} type veth peer name {b} netns {b}"))?;
        for (name, address) in NAMES.iter().zip(ADDRESSES) {
            ip(&format!("-n {name} addr add {address}/24 dev {name}"))?;
            ip(&format!("-n {name} link set {name} up"))?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        Ok(hosts)
    }

    /// A command that starts `mpiexec` for ranks on both hosts alternately. Arguments of `mpiexec` are added to it.
    pub fn mpiexec(&self, package: &str, mpiexec: &Path) -> Command {
        let mut command = Command::new(&self.ssh);
        command.arg(ADDRESSES[0]).arg(mpiexec);
        let ([a, b], ssh) = (ADDRESSES, self.ssh.display());
        let flags = match package {
            "openmpi" => format!(
                "--prtemca plm_ssh_agent {ssh} --prtemca prte_if_include {NETWORK} --mca btl tcp,self \
                 --mca btl_tcp_if_include {NETWORK} --host {a}:8,{b}:8 --map-by node:oversubscribe"
            ),
            _ => {
                // One kernel serves both hosts, and would let them share memory.
                command.env("UCX_TLS", "tcp,self");
                format!("-launcher ssh -launcher-exec {ssh} -hosts {a},{b} -ppn 1")
            }
        };
        command.args(flags.split(' '));
        command
    }

    /// How many bytes the first host has sent to the second.
    pub fn sent(&self) -> u64 {
        let file = format!("/sys/class/net/{}/statistics/tx_bytes", NAMES[0]);
        let told = Command::new("ip").args(["netns", "exec", NAMES[0], "cat", &file]).output();
        let told = told.map(|told| String::from_utf8_lossy(&told.stdout).trim().parse());
        told.ok().and_then(Result::ok).unwrap_or(0)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in NAMES {
            // One that was not made cannot be removed.
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

fn ip(arguments: &str) -> Result<(), String> {
    let told = Command::new("ip").args(arguments.split(' ')).output();
    let told = told.map_err(|error| format!("ip {arguments}: {error}"))?;
    match told.status.success() {
        true => Ok(()),
        false => Err(format!("ip {arguments}: {}", String::from_utf8_lossy(&told.stderr).trim())),
    }
}
