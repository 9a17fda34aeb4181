//! Servers start, restart and end.

#![allow(clippy::unwrap_used, reason = "a test panics where it does not get what it expects")]

use a2a_test_servers::{Nginx, Private, Replication, nats, postgres};
use tokio_postgres::NoTls;

async fn answer(url: &str) -> Result<i32, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute("CREATE TABLE IF NOT EXISTS kept (n int4)").await?;
    client.batch_execute("INSERT INTO kept VALUES (1)").await?;
    Ok(client.query_one("SELECT sum(n)::int4 FROM kept", &[]).await?.get(0))
}

#[tokio::test]
async fn each_database_is_new() {
    let Ok(postgres) = postgres().await else { return };
    let (one, two) = tokio::join!(postgres.database(), postgres.database());
    assert_ne!(one, two);
    assert_eq!(answer(&one).await.unwrap(), 1);
    assert_eq!(answer(&two).await.unwrap(), 1);
}

#[tokio::test]
async fn nats_names_are_unique() {
    let Ok(nats) = nats().await else { return };
    assert_ne!(nats.unique(), nats.unique());
}

#[tokio::test]
async fn killed_database_recovers_its_data() {
    let Ok(mut postgres) = Private::postgres(&[]).await else { return };
    assert_eq!(answer(postgres.url()).await.unwrap(), 1);
    postgres.kill();
    answer(postgres.url()).await.unwrap_err();
    postgres.start().await;
    assert_eq!(answer(postgres.url()).await.unwrap(), 2);
}

#[tokio::test]
async fn paused_database_resumes() {
    let Ok(postgres) = Private::postgres(&[]).await else { return };
    postgres.pause();
    let answer = answer(postgres.url());
    tokio::pin!(answer);
    let pause = std::time::Duration::from_millis(200);
    assert!(tokio::time::timeout(pause, &mut answer).await.is_err(), "it is not paused");
    postgres.resume();
    assert_eq!(answer.await.unwrap(), 1);
}

#[tokio::test]
async fn failover_keeps_commits_and_leaves_old_sessions_open_and_read_only() {
    let Ok(mut servers) = Replication::start().await else { return };
    assert_eq!(answer(&servers.url_at(servers.address())).await.unwrap(), 1);
    for written in 2..=3 {
        let url = servers.url_at(servers.address());
        let (session, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        session.batch_execute("SELECT 1").await.unwrap();
        servers.fail_over().await.unwrap();
        session.batch_execute("SELECT count(*) FROM kept").await.unwrap();
        let error = session.batch_execute("INSERT INTO kept VALUES (1)").await.unwrap_err();
        let code = error.code().map(tokio_postgres::error::SqlState::code);
        assert_eq!(code, Some("25006"), "read_only_sql_transaction: {error}");
        assert_eq!(answer(&servers.url_at(servers.address())).await.unwrap(), written);
        servers.kill_former();
        session.batch_execute("SELECT 1").await.unwrap_err();
        servers.add_standby().await.unwrap();
    }
}

#[tokio::test]
async fn killed_nats_server_restarts() {
    let Ok(mut nats) = Private::nats(&["--user", "me", "--pass", "secret"]).await else { return };
    let port = nats.url().rsplit(':').next().unwrap().parse::<u16>().unwrap();
    nats.kill();
    tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap_err();
    nats.start().await;
    tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
}

#[tokio::test]
async fn nginx_listens_until_it_is_dropped() {
    let server = |port: u16| format!("server {{ listen 127.0.0.1:{port}; return 204; }}");
    let Ok(nginx) = Nginx::start(&[], server).await else { return };
    let port = nginx.port();
    tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    drop(nginx);
    tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap_err();
}
