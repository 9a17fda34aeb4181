//! The terminal of one page: its commands run as a reader would type them.

use std::{
    fs::{self, File},
    net::TcpStream,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{
    page::{Block, Directive, Page, Step},
    ports::Ports,
    transcript,
};
use crate::{Result, workspace};

/// Time for a command, which may build a program first.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(900);

/// Time for a server to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Variables of the person who runs the check, which would change what programs print.
const FOREIGN: [&str; 4] = ["A2A", "OTEL_", "RUST_LOG", "RUST_BACKTRACE"];

/// A folder with the files of a page, and the servers that it has started.
pub(super) struct Session<'a> {
    folder: &'a Path,
    /// Where commands run; `cd` changes it.
    here: PathBuf,
    path: String,
    environment: &'a [(String, String)],
    ports: Ports,
    servers: Vec<Server>,
    last: Option<Output>,
    /// With `BLESS=1`, the outputs that differ from the page, by the line of their block.
    blessed: Option<Vec<(usize, String)>>,
}

struct Server {
    port: u16,
    child: Child,
    output: PathBuf,
}

/// Where the output of the last command is.
enum Output {
    Ended(String),
    Server(u16),
}

/// Runs the commands of a page in an empty folder. With `BLESS=1`, writes their outputs into the
/// page instead of comparing them.
pub(super) fn run(page: &Page, programs: &Path, environment: &[(String, String)]) -> Result<()> {
    let folder = Folder::create()?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut session = Session {
        folder: &folder.0,
        here: folder.0.clone(),
        path: format!("{}:{path}", programs.display()),
        environment,
        ports: Ports::reserve()?,
        servers: Vec::new(),
        last: None,
        blessed: std::env::var_os("BLESS").map(|_| Vec::new()),
    };
    for step in &page.steps {
        let (line, done) = match step {
            Step::Stop(port) => (0, session.stop(*port)),
            Step::Block(block) => (block.line, session.step(block)),
        };
        done.map_err(|error| format!("{}:{line}: {error}", page.name))?;
    }
    match session.blessed.take() {
        Some(outputs) if !outputs.is_empty() => bless(page, outputs),
        _ => Ok(()),
    }
}

/// Puts outputs in the place of those in a page.
fn bless(page: &Page, outputs: Vec<(usize, String)>) -> Result {
    let path = workspace::root().join(&page.name);
    let text = workspace::read(&path)?;
    let mut lines: Vec<&str> = text.lines().collect();
    for (fence, output) in outputs.iter().rev() {
        let length = lines[*fence..].iter().take_while(|line| !line.starts_with("```")).count();
        let output = output.trim_end().lines().map(str::trim_end);
        lines.splice(*fence..*fence + length, output);
    }
    workspace::write_or_check(&path, &format!("{}\n", lines.join("\n")), false)?;
    Ok(())
}

impl Session<'_> {
    fn step(&mut self, block: &Block) -> Result {
        let text = self.ports.replace(&block.text);
        match (&block.directive, block.language.as_str()) {
            (Some(Directive::NotRun(_) | Directive::TestedBy(_) | Directive::Settings), _) => {
                self.last = None;
                Ok(())
            }
            (Some(Directive::File(name)), _) => self.write(name, &text),
            (Some(Directive::Section(name)), _) => self.replace_section(name, &text),
            (Some(Directive::Server(port)), _) => self.serve(*port, &text),
            (Some(Directive::Fails), "sh") => self.execute(&text, false),
            (_, "sh") => self.execute(&text, true),
            (_, "text") => self.compare(block.line, &block.text),
            _ => Ok(()),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result {
        let path = self.here.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(fs::write(path, text)?)
    }

    /// Puts a table in the place of the one with the same header.
    fn replace_section(&self, name: &str, section: &str) -> Result {
        let path = self.here.join(name);
        let file = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        let lock = path.with_extension("lock");
        if name == "Cargo.toml" && !lock.exists() {
            // The versions that everything else here is tested with, without a look at the registry.
            fs::copy(workspace::root().join("Cargo.lock"), lock)?;
        }
        let header = section.lines().next().unwrap_or_default();
        let mut kept = String::new();
        let mut is_inside = false;
        for line in file.lines() {
            if line.starts_with('[') {
                is_inside = line == header;
            }
            if !is_inside {
                kept.extend([line, "\n"]);
            }
        }
        Ok(fs::write(path, format!("{}\n\n{section}", kept.trim_end()))?)
    }

    fn execute(&mut self, script: &str, succeeds: bool) -> Result {
        let output = self.folder.join(".output");
        let state = self.folder.display();
        let script =
            format!("trap 'pwd > {state}/.here; export -p > {state}/.variables' EXIT\n{script}");
        let mut child = self.start(&script, &output)?;
        let Some(status) = wait(&mut child, COMMAND_TIMEOUT)? else {
            interrupt(&mut child)?;
            return Err("the command does not end".into());
        };
        let text = fs::read_to_string(&output)?;
        if let Ok(here) = fs::read_to_string(self.folder.join(".here")) {
            self.here = here.trim_end().into();
        }
        if status.success() != succeeds {
            return Err(format!("{status}, with the output\n{text}").into());
        }
        self.last = Some(Output::Ended(text));
        Ok(())
    }

    /// Starts a server in place of the one on the same port, and waits until it is ready.
    fn serve(&mut self, port: u16, script: &str) -> Result {
        self.stop(port)?;
        let output = self.folder.join(format!(".server-{port}"));
        let child = self.start(&with_port(script, self.ports.of(port)), &output)?;
        self.servers.push(Server { port, child, output: output.clone() });
        let address = ("127.0.0.1", self.ports.of(port));
        let begin = Instant::now();
        while TcpStream::connect(address).is_err() {
            let server = self.servers.last_mut().ok_or("no server")?;
            if let Some(status) = server.child.try_wait()? {
                let text = fs::read_to_string(&output)?;
                return Err(format!("the server ended: {status}, with the output\n{text}").into());
            }
            if begin.elapsed() > COMMAND_TIMEOUT {
                return Err("the server does not listen".into());
            }
            thread::sleep(POLL_INTERVAL);
        }
        self.last = Some(Output::Server(port));
        Ok(())
    }

    /// Stops a server with Ctrl-C.
    fn stop(&mut self, port: u16) -> Result {
        let Some(index) = self.servers.iter().position(|server| server.port == port) else {
            return Ok(());
        };
        let mut server = self.servers.remove(index);
        if interrupt(&mut server.child)? {
            self.last = Some(Output::Ended(fs::read_to_string(server.output)?));
            return Ok(());
        }
        Err(format!("the server on port {port} does not stop").into())
    }

    fn compare(&mut self, line: usize, expected: &str) -> Result {
        match self.last.take() {
            None => Err("no command has this output".into()),
            Some(Output::Ended(output)) => {
                let output = self.ports.restore(&output);
                match transcript::compare(expected, &output) {
                    Ok(()) => Ok(()),
                    Err(error) => self.differs(line, &error, expected, &output),
                }
            }
            Some(Output::Server(port)) => {
                let server = self.servers.iter().find(|server| server.port == port);
                let path = server.ok_or("the server has been stopped")?.output.clone();
                // A server prints when it is ready, and may do so after it accepts connections.
                let begin = Instant::now();
                loop {
                    let output = self.ports.restore(&fs::read_to_string(&path)?);
                    match transcript::compare(expected, &output) {
                        Ok(()) => return Ok(()),
                        Err(_) if begin.elapsed() < STOP_TIMEOUT => thread::sleep(POLL_INTERVAL),
                        Err(error) => return self.differs(line, &error, expected, &output),
                    }
                }
            }
        }
    }

    /// An output that is not the one in the page.
    fn differs(&mut self, line: usize, error: &str, expected: &str, output: &str) -> Result {
        match &mut self.blessed {
            Some(blessed) => {
                blessed.push((line, transcript::blessed(expected, output)));
                Ok(())
            }
            None => Err(format!("{error}, in the output\n{output}").into()),
        }
    }

    /// Starts a shell in a process group of its own, with the variables that earlier commands set.
    fn start(&self, script: &str, output: &Path) -> Result<Child> {
        let state = self.folder.display();
        let script =
            format!("[ -f {state}/.variables ] && . {state}/.variables\nset -ea\n{script}");
        let output = File::create(output)?;
        let mut command = Command::new("bash");
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if FOREIGN.iter().any(|foreign| name.starts_with(foreign)) {
                command.env_remove(name);
            }
        }
        command
            .args(["-c", &script])
            .current_dir(&self.here)
            .env("PATH", &self.path)
            // Apart from the target of the workspace, whose crates have other features.
            .env("CARGO_TARGET_DIR", workspace::root().join("target/book-projects"))
            .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
            .env("CARGO_TERM_QUIET", "true")
            .env("NO_COLOR", "1")
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0);
        Ok(command.spawn()?)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = interrupt(&mut server.child);
        }
    }
}

/// A command that starts `a2a serve` on a port, if it names none: the default is a documented port.
fn with_port(script: &str, port: u16) -> String {
    if script.contains("--port") {
        return script.to_owned();
    }
    script.replace("a2a serve", &format!("a2a serve --port {port}"))
}

/// Sends SIGINT to a process group, and returns whether its leader ends in time; if not, it is
/// killed.
fn interrupt(child: &mut Child) -> Result<bool> {
    let group = format!("-{}", child.id());
    Command::new("kill").args(["-INT", "--", &group]).stderr(Stdio::null()).status()?;
    if wait(child, STOP_TIMEOUT)?.is_some() {
        return Ok(true);
    }
    Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status()?;
    child.wait()?;
    Ok(false)
}

fn wait(child: &mut Child, timeout: Duration) -> Result<Option<std::process::ExitStatus>> {
    let begin = Instant::now();
    loop {
        match child.try_wait()? {
            None if begin.elapsed() < timeout => thread::sleep(POLL_INTERVAL),
            status => return Ok(status),
        }
    }
}

/// The folder of a page outside of the workspace, where `a2a` is the clone of the reader. Its path is
/// the same for all pages and runs, so that cargo builds the crates of the clone once.
struct Folder(PathBuf);

impl Folder {
    fn create() -> Result<Self> {
        let root = workspace::root();
        let name = root.to_string_lossy().replace('/', "-");
        let folder = Self(std::env::temp_dir().join(format!("a2a-book{name}")));
        folder.remove();
        fs::create_dir_all(&folder.0)?;
        std::os::unix::fs::symlink(root, folder.0.join("a2a"))?;
        Ok(folder)
    }

    fn remove(&self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.remove();
    }
}
