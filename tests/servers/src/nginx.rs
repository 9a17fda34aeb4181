//! nginx.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tokio::{
    net::TcpStream,
    sync::OnceCell,
    task::spawn_blocking,
    time::{Instant, sleep},
};

use crate::{
    Skipped,
    process::{Process, add_files, folder, free_port},
    program,
};

const NAME: &str = "nginx";
const START: Duration = Duration::from_secs(15);

/// What surrounds a configuration: paths that an unprivileged user can write, and one worker.
const MAIN: &str = "\
worker_processes 1;
error_log stderr;
pid nginx.pid;
events { worker_connections 512; }
http {
access_log access.log;
client_body_temp_path body;
proxy_temp_path proxy;
fastcgi_temp_path fastcgi;
uwsgi_temp_path uwsgi;
scgi_temp_path scgi;
";

/// A running nginx, which stops on drop.
#[derive(Debug)]
pub struct Nginx {
    port: u16,
    folder: PathBuf,
    _process: Process,
}

impl Nginx {
    /// Starts nginx with the contents of its `http` block, which listen on this port of
    /// 127.0.0.1. They refer to `files`, such as certificates, by their names.
    ///
    /// # Errors
    ///
    /// [`Skipped`], after a line on standard error, where it is not installed and can't be.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub async fn start(
        files: &[(&str, &str)],
        config: impl FnOnce(u16) -> String,
    ) -> Result<Self, Skipped> {
        let program = program().await.inspect_err(Skipped::say)?;
        let (folder, port) = (folder(NAME).expect("a folder"), free_port());
        let config = format!("{MAIN}{}}}\n", config(port));
        add_files(&folder, files).expect("files in the folder");
        add_files(&folder, &[("nginx.conf", &config)]).expect("a file in the folder");
        let (program, path) = (program.to_string_lossy(), folder.to_string_lossy());
        // Without `-e`, the log of the system is opened before the configuration is read.
        let command =
            [&*program, "-e", "stderr", "-p", &path, "-c", "nginx.conf", "-g", "daemon off;"];
        let command = command.map(str::to_owned);
        let process = Process::start(&folder, "TERM", &command).expect("a process");
        let deadline = Instant::now() + START;
        while let Err(error) = TcpStream::connect(("127.0.0.1", port)).await {
            let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
            let runs = !process.has_ended() && Instant::now() < deadline;
            assert!(runs, "nginx does not start: {error}\n{}\n{config}", log());
            sleep(Duration::from_millis(10)).await;
        }
        Ok(Self { port, folder, _process: process })
    }

    /// The port on which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The error log so far.
    pub fn error_log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The access log so far, in the `combined` format. A request may be missing for a moment
    /// after its response has arrived.
    pub fn access_log(&self) -> String {
        fs::read_to_string(self.folder.join("access.log")).unwrap_or_default()
    }
}

/// The program: the one that `NGINX` names, where empty means none, or the installed one.
pub(crate) async fn program() -> Result<&'static Path, Skipped> {
    static SHARED: OnceCell<Result<PathBuf, Skipped>> = OnceCell::const_new();
    let found = SHARED.get_or_init(async || {
        let found = match env::var("NGINX") {
            Ok(path) if path.is_empty() => Err("NGINX is empty".to_owned()),
            Ok(path) => Ok(PathBuf::from(path)),
            Err(_) => spawn_blocking(|| program::find_or_install("nginx", "nginx"))
                .await
                .unwrap_or_else(|error| Err(error.to_string())),
        };
        found.map_err(|reason| Skipped::new(NAME, reason))
    });
    found.await.as_deref().map_err(Clone::clone)
}

/// A description: `nginx 1.22.1 (/usr/sbin/nginx)`.
pub(crate) fn description(program: &Path) -> String {
    let output = Command::new(program).args(["-e", "stderr", "-v"]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
    let text = text.unwrap_or_default();
    let version = text.trim().rsplit('/').next().unwrap_or_default();
    format!("{NAME} {version} ({})", program.display())
}
