//! Claims about what operators read and change.

use super::*;
use crate::admin::settings::Public;
use crate::pace::rules::PaceRules;
use http_body_util::BodyExt;
use serde_json::{Value, json};

struct Desk {
    views: Views,
}

impl Desk {
    fn new(rules: GateRules) -> Desk {
        let views = Views {
            gate: Gate::new(rules, Clock::by_hand().0),
            ..views(Readiness::Ready, Public::default())
        };
        Desk { views }
    }

    async fn ask(&self, method: &str, target: &str, fields: &[(&str, &str)]) -> (u16, Value) {
        self.ask_from(method, target, fields, HERE, Door::Port).await
    }

    async fn ask_from(
        &self,
        method: &str,
        target: &str,
        fields: &[(&str, &str)],
        caller: &str,
        door: Door,
    ) -> (u16, Value) {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let parts = request.body(()).unwrap().into_parts().0;
        let response = answer(&self.views, &parts, caller.parse().unwrap(), door);
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).expect("JSON"))
    }

    async fn row(&self, name: &str) -> Value {
        self.ask("GET", &format!("/api/hosts/{name}"), &[HOST]).await.1["row"].clone()
    }
}

fn scope(name: &str) -> Scope {
    Scope::named(name).unwrap()
}

const HOST: (&str, &str) = ("host", "127.0.0.1:3129");

#[tokio::test]
async fn an_operator_pauses_pins_resumes_and_resets_and_reads_what_became_of_it() {
    let desk = Desk::new(GateRules::default());
    assert_eq!(desk.row("shop.example").await, Value::Null);
    let (status, _) = desk.ask("POST", "/api/hosts/shop.example/reset", &[HOST]).await;
    assert_eq!(status, 404, "there is nothing to forget");
    let (status, value) =
        desk.ask("POST", "/api/hosts/Shop.Example/pause?seconds=60", &[HOST]).await;
    assert_eq!((status, &value["row"]["paused_seconds"]), (200, &json!(60.0)));
    assert_eq!(value["row"]["waits_for"], "pause");
    desk.ask("POST", "/api/hosts/shop.example/pin?rung=3", &[HOST]).await;
    let row = desk.row("shop.example").await;
    assert_eq!((&row["rung"], &row["pinned"]), (&json!(3), &json!(true)));
    let (status, _) = desk.ask("POST", "/api/hosts/shop.example/resume", &[HOST]).await;
    assert_eq!((status, &desk.row("shop.example").await["paused_seconds"]), (200, &Value::Null));
    desk.ask("POST", "/api/hosts/shop.example/reset", &[HOST]).await;
    assert_eq!(desk.row("shop.example").await, Value::Null);
}

#[tokio::test]
async fn nobody_else_changes_anything_and_never_by_a_get() {
    let desk = Desk::new(GateRules::default());
    let target = "/api/hosts/shop.example/pause?seconds=60";
    let right = ("authorization", "Bearer 0123456789abcdef");
    let wrong = ("authorization", "Bearer 0123456789abcdeg");
    let origin = ("origin", "http://evil.example");
    let port = Door::Port;
    let check = async |fields: &[(&str, &str)], method: &str, caller: &str, door, want: u16| {
        let (status, value) = desk.ask_from(method, target, fields, caller, door).await;
        assert_eq!(status, want, "{method} {fields:?} {caller}");
        assert_eq!(value["error"].is_string(), want != 200, "{value}");
    };
    for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"] {
        check(&[HOST], method, HERE, port, 405).await;
    }
    check(&[HOST], "POST", HERE, Door::Proxy, 405).await;
    check(&[HOST], "POST", ELSEWHERE, port, 403).await;
    check(&[HOST, origin], "POST", HERE, port, 403).await;
    check(&[HOST, ("sec-fetch-site", "cross-site")], "POST", HERE, port, 403).await;
    check(&[("host", "evil.example")], "POST", HERE, port, 403).await;
    check(&[], "POST", HERE, port, 403).await;
    check(&[HOST, wrong], "POST", HERE, port, 401).await;
    check(&[HOST, ("content-length", "1")], "POST", HERE, port, 400).await;
    assert_eq!(desk.row("shop.example").await, Value::Null, "nothing was changed");
    check(&[right], "POST", ELSEWHERE, port, 200).await;
    check(&[HOST], "POST", HERE, port, 200).await;
}

#[tokio::test]
async fn who_reads_is_here_or_knows_the_token() {
    let desk = Desk::new(GateRules::default());
    let check = async |fields: &[(&str, &str)], caller: &str, door, want: u16| {
        let (status, _) = desk.ask_from("GET", "/api/hosts", fields, caller, door).await;
        assert_eq!(status, want, "{fields:?} {caller}");
    };
    check(&[HOST], HERE, Door::Port, 200).await;
    check(&[("host", "evil.example")], HERE, Door::Port, 403).await;
    check(&[HOST], ELSEWHERE, Door::Port, 403).await;
    check(&[("authorization", "Bearer 0123456789abcdef")], ELSEWHERE, Door::Port, 200).await;
    check(&[("host", "pacegate.internal")], HERE, Door::Proxy, 200).await;
    check(&[("host", "pacegate.internal")], ELSEWHERE, Door::Proxy, 403).await;
}

#[tokio::test]
async fn rows_come_by_name_and_in_pages() {
    let desk = Desk::new(GateRules::default());
    for name in ["c.example", "a.example", "b.example"] {
        desk.views.gate.pin(&scope(name), 1);
    }
    let names = async |target: &str| {
        let (status, value) = desk.ask("GET", target, &[HOST]).await;
        assert_eq!((status, &value["total"]), (200, &json!(3)), "{value}");
        let rows = value["hosts"].as_array().unwrap().iter();
        let names: Vec<_> = rows.map(|row| row["scope"].as_str().unwrap().to_owned()).collect();
        (names.join(" "), value["truncated"].clone(), value["next"].clone())
    };
    let all = ("a.example b.example c.example".to_owned(), json!(false), Value::Null);
    assert_eq!(names("/api/hosts").await, all);
    let first = ("a.example b.example".to_owned(), json!(true), json!("b.example"));
    assert_eq!(names("/api/hosts?limit=2").await, first);
    let last = ("c.example".to_owned(), json!(false), Value::Null);
    assert_eq!(names("/api/hosts?limit=2&after=b.example").await, last);
}

#[tokio::test]
async fn what_is_no_call_says_so() {
    let desk = Desk::new(GateRules::default());
    let calls = [
        ("GET", "/api", 404),
        ("GET", "/api/", 404),
        ("GET", "/api/hosts/a/b/c", 404),
        ("GET", "/api/hosts?limit=0", 400),
        ("GET", "/api/hosts?limit=10001", 400),
        ("GET", "/api/hosts?page=1", 400),
        ("GET", "/api/hosts/a%20b", 400),
        ("GET", "/api/hosts/%zz", 400),
        ("GET", "/api/explain", 400),
        ("GET", "/api/explain?url=shop.example", 400),
        ("GET", "/api/explain?url=ftp://shop.example/", 400),
        ("GET", "/api/explain?url=http://a..b/", 400),
        ("POST", "/api/hosts/a/pause", 400),
        ("POST", "/api/hosts/a/pause?seconds=0", 400),
        ("POST", "/api/hosts/a/pause?seconds=-1", 400),
        ("POST", "/api/hosts/a/pause?seconds=nan", 400),
        ("POST", "/api/hosts/a/pause?seconds=1e9", 400),
        ("POST", "/api/hosts/a/pause?seconds=1&seconds=2", 400),
        ("POST", "/api/hosts/a/pin?rung=16", 400),
        ("POST", "/api/hosts/a/pin?rung=1.5", 400),
        ("POST", "/api/hosts/a/reset?now", 400),
    ];
    for (method, target, want) in calls {
        let (status, value) = desk.ask(method, target, &[HOST]).await;
        assert_eq!(status, want, "{method} {target}");
        assert!(value["error"].is_string(), "{value}");
    }
}

#[tokio::test]
async fn a_request_is_explained_with_and_without_a_row() {
    let slow = PaceRules { delay: Duration::from_secs(2), ..PaceRules::default() };
    let scopes = [(scope("slow.example"), slow)].into();
    let desk = Desk::new(GateRules { scopes, ..GateRules::default() });
    let of = async |url: &str| {
        let (status, value) = desk.ask("GET", &format!("/api/explain?url={url}"), &[HOST]).await;
        assert_eq!(status, 200, "{value}");
        value
    };
    let healthy = of("https://shop.example/page%3Fa=1").await;
    assert_eq!((&healthy["starts_at_once"], &healthy["waits_for"]), (&json!(true), &Value::Null));
    let pace = &healthy["scopes"][0]["pace"];
    assert_eq!((&pace["law"], &pace["ladder_seconds"][1]), (&json!("ladder"), &json!(2.0)));
    let slow = of("http://slow.example:8080/").await;
    assert_eq!(slow["scopes"][0]["pace"]["throttles"]["delay_seconds"], json!(2.0));
    assert_eq!(slow["scopes"][0]["row"], Value::Null);
    desk.views.gate.pause(&scope("shop.example"), Duration::from_secs(30));
    let paused = of("https://shop.example/").await;
    assert_eq!((&paused["starts_at_once"], &paused["waits_for"]), (&json!(false), &json!("pause")));
    assert_eq!(paused["waits_at_least_seconds"], json!(30.0));
    assert_eq!(paused["scopes"][0]["row"]["paused_seconds"], json!(30.0));
}
