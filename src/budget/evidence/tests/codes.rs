//! What codes tell.

use super::*;

#[test]
fn rpc_codes_tell_by_number_or_name_in_any_spelling_under_any_key() {
    for key in [
        "rpc.grpc.status_code",
        "rpc.response.status_code",
        "rpc.status_code",
        "rpc.connect_rpc.error_code",
        "grpc.status_code",
        "grpc.status.code",
        "grpc.code",
    ] {
        assert_eq!(client(&[(key, Value::Int(4))]), DEADLINE, "{key}");
        for code in [
            "4",
            "DEADLINE_EXCEEDED",
            "DeadlineExceeded",
            "deadline_exceeded",
            "Deadline Exceeded",
            "StatusCode.DEADLINE_EXCEEDED",
            "4 DEADLINE_EXCEEDED",
        ] {
            assert_eq!(client(&[(key, text(code))]), DEADLINE, "{key} {code}");
        }
        for code in [
            "1",
            "CANCELLED",
            "CANCELED",
            "Canceled",
            "canceled",
            "cancelled",
        ] {
            assert_eq!(client(&[(key, text(code))]), CANCELLED, "{key} {code}");
        }
        assert_eq!(client(&[(key, Value::Int(0))]), FINE, "{key}");
        assert_eq!(client(&[(key, text("OK"))]), FINE, "{key}");
        assert_eq!(client(&[(key, text("UNAVAILABLE"))]), FAILED, "{key}");
        assert_eq!(flags(server(&[(key, Value::Int(5))])), FINE, "{key}");
        assert_eq!(flags(server(&[(key, Value::Int(13))])), FAILED, "{key}");
    }
}

#[test]
fn dubbo_has_codes_of_its_own_and_others_do_not_have_them() {
    for system in [("rpc.system", "apache_dubbo"), ("rpc.system.name", "dubbo")] {
        let system = (system.0, text(system.1));
        let dubbo = |code: Value| client(&[system.clone(), ("rpc.status_code", code)]);
        assert_eq!(dubbo(Value::Int(30)), DEADLINE);
        assert_eq!(dubbo(text("31")), DEADLINE);
        assert_eq!(dubbo(text("SERVER_TIMEOUT")), DEADLINE);
        assert_eq!(dubbo(Value::Int(20)), FINE);
        assert_eq!(dubbo(Value::Int(40)), FAILED);
        assert_eq!(dubbo(Value::Int(4)), DEADLINE);
    }
    assert_eq!(client(&[("rpc.status_code", Value::Int(30))]), FAILED);
    // JSON-RPC's number is off by default.
    assert_eq!(client(&[("rpc.status_code", text("-32001"))]), FAILED);
}

#[test]
fn http_codes_tell_by_side() {
    let http = |code: i64| [("http.response.status_code", Value::Int(code))];
    for (code, reason) in [
        (504, Reason::OwnDeadline),
        (408, Reason::OwnDeadline),
        (498, Reason::ExpiredOnArrival),
        (477, Reason::ExpiredOnArrival),
        (577, Reason::DependencyTimeout),
        (522, Reason::DependencyTimeout),
        (524, Reason::DependencyTimeout),
    ] {
        let found = server(&http(code));
        assert_eq!(
            (flags(found), found.reason),
            (DEADLINE, Some(reason)),
            "{code}"
        );
    }
    for code in [504, 408] {
        let found = of(&span(Kind::Client, StatusCode::Unset, "", &http(code)));
        assert_eq!(found.reason, Some(Reason::DependencyTimeout), "{code}");
    }
    for code in [499, 460] {
        assert_eq!(client(&http(code)), CANCELLED, "{code}");
        assert_eq!(
            server(&http(code)).reason,
            Some(Reason::CallerGone),
            "{code}"
        );
    }
    assert_eq!(client(&http(503)), FAILED);
    assert_eq!(client(&http(404)), FAILED);
    assert_eq!(flags(server(&http(404))), FINE);
    assert_eq!(client(&http(200)), FINE);
    assert_eq!(client(&[("http.status_code", text("408"))]), DEADLINE);
}

#[test]
fn a_503_is_a_timeout_with_a_second_sign_only() {
    let http = ("http.response.status_code", Value::Int(503));
    let alone = server(std::slice::from_ref(&http));
    assert!(alone.maybe_deadline && !alone.deadline && alone.error);
    let spring = "org.springframework.web.context.request.async.AsyncRequestTimeoutException";
    assert!(server(&[http.clone(), ("error.type", text(spring))]).deadline);
    let overload = server(&[http, ("response_flags", text("UO"))]);
    assert!(!overload.maybe_deadline && !overload.deadline && overload.error);
}

/// Report 121: no answer is a class of its own.
#[test]
fn a_status_of_zero_is_a_caller_that_left_or_an_answer_that_never_came() {
    let zero = ("http.status_code", text("0"));
    let flag = |flag| ("response_flags", text(flag));
    assert_eq!(
        server(&[zero.clone(), flag("DC")]).reason,
        Some(Reason::CallerGone)
    );
    assert_eq!(flags(server(std::slice::from_ref(&zero))), CANCELLED);
    assert_eq!(flags(server(&[zero.clone(), flag("UC")])), FAILED);
    assert_eq!(client(std::slice::from_ref(&zero)), CANCELLED);
    let refused = failed("connection refused", std::slice::from_ref(&zero));
    assert_eq!(flags(refused), FAILED);
    assert_eq!(flags(failed("no answer", &[])), FAILED);
}

#[test]
fn envoys_flags_tell_time_from_other_failures() {
    let of = |value: &str| flags(server(&[("response_flags", text(value))]));
    for own in ["UT", "SI", "UMSDR", "DT", "URX,UT"] {
        assert_eq!(of(own), DEADLINE, "{own}");
    }
    assert_eq!(of("DC"), CANCELLED);
    for other in ["UF", "UC", "UR", "UO", "URX", "DPE", "NR", "UF,URX"] {
        assert_eq!(of(other), FAILED, "{other}");
    }
    for none in ["-", "", "UTX"] {
        assert_eq!(of(none), FINE, "{none}");
    }
    // The headers had gone out when the time ran out.
    let late = [
        ("http.status_code", text("200")),
        ("response_flags", text("UT")),
    ];
    assert_eq!(client(&late), DEADLINE);
    let gateway = [
        ("http.status_code", text("504")),
        ("response_flags", text("UT")),
    ];
    let found = failed("", &gateway);
    assert_eq!(found.reason, Some(Reason::OwnDeadline));
    let details = |text: &str| {
        flags(server(&[(
            "response_code_details",
            Value::Str(text.into()),
        )]))
    };
    assert_eq!(details("upstream_per_try_timeout"), DEADLINE);
    assert_eq!(details("response_timeout"), FINE);
    assert_eq!(details("downstream_remote_disconnect"), CANCELLED);
    assert_eq!(details("via_upstream"), FINE);
}

#[test]
fn an_rpc_status_of_zero_is_no_proof_of_success() {
    let zero = [("rpc.grpc.status_code", Value::Int(0))];
    let mut unset = span(Kind::Server, StatusCode::Unset, "", &zero);
    unset.events.push(exception(
        &[
            ("exception.type", "Exception"),
            ("exception.message", "context deadline exceeded"),
        ],
        995,
    ));
    assert_eq!(flags(of(&unset)), DEADLINE);
    // The handler went on for longer than it takes to fail, or says that it caught it.
    unset.events[0].time = UnixNanos(900_000_000);
    assert_eq!(flags(of(&unset)), FINE);
    unset.events[0].time = UnixNanos(995_000_000);
    unset.events[0]
        .attributes
        .0
        .push(("exception.escaped".into(), Value::Bool(false)));
    assert_eq!(flags(of(&unset)), FINE);
}

#[test]
fn database_codes_tell_with_their_system() {
    let db = |system: &str, code: &str, message: &str| {
        let pairs = [
            ("db.system.name", text(system)),
            ("db.response.status_code", text(code)),
        ];
        failed(message, &pairs)
    };
    let by_user = "canceling statement due to user request";
    assert!(
        db(
            "postgresql",
            "57014",
            "canceling statement due to statement timeout"
        )
        .deadline
    );
    let unsaid = db("postgresql", "57014", "");
    assert!(unsaid.deadline && unsaid.reason == Some(Reason::Ambiguous));
    assert_eq!(
        db("cockroachdb", "57014", by_user).reason,
        Some(Reason::CallerGone)
    );
    assert!(db("cockroachdb", "57014", "query execution canceled").cancelled);
    assert!(
        db(
            "cockroachdb",
            "57014",
            "query execution canceled due to statement timeout"
        )
        .deadline
    );
    assert!(
        db(
            "postgresql",
            "55P03",
            "canceling statement due to lock timeout"
        )
        .deadline
    );
    assert_eq!(
        flags(db("postgresql", "55P03", "could not obtain lock on row")),
        FAILED
    );
    for (system, code) in [
        ("mysql", "3024"),
        ("mariadb", "1969"),
        ("mariadb", "70100"),
        ("mongodb", "50"),
        ("mongodb", "262"),
        ("mongodb", "MaxTimeMSExpired"),
        ("microsoft.sql_server", "-2"),
        ("mssql", "-2"),
        ("cassandra", "0x1100"),
        ("cassandra", "4608"),
    ] {
        assert_eq!(flags(db(system, code, "")), DEADLINE, "{system} {code}");
        assert_eq!(
            flags(db("redis", code, "")),
            if code == "MaxTimeMSExpired" {
                DEADLINE
            } else {
                FAILED
            },
            "{code}"
        );
    }
    assert_eq!(flags(db("mysql", "1028", "")), FAILED);
    let spent = "Query execution was interrupted, maximum statement execution time exceeded";
    assert_eq!(flags(db("mysql", "1028", spent)), DEADLINE);
    assert_eq!(flags(db("mysql", "1317", "")), CANCELLED);
    assert_eq!(flags(db("oracle", "1013", "")), CANCELLED);
    assert_eq!(flags(db("oracle.db", "ORA-01013", "")), CANCELLED);
    // A driver's own timer kills the query, too, and says so in its type.
    let pairs = [
        ("db.system", text("mysql")),
        ("db.response.status_code", text("1317")),
        (
            "exception.type",
            text("com.mysql.cj.jdbc.exceptions.MySQLTimeoutException"),
        ),
    ];
    assert_eq!(flags(failed("", &pairs)), DEADLINE);
}

#[test]
fn a_statement_that_the_server_stopped_is_undone() {
    let undone = |system: &str, code: &str| {
        let pairs = [("db.system", text(system)), ("error.type", text(code))];
        is_rolled_back(&Outcomes::with(&[]), &pairs.into_iter().collect())
    };
    assert!(undone("postgresql", "57014"));
    assert!(undone("mysql", "3024"));
    assert!(!undone("mongodb", "50"));
    assert!(!undone("redis", "3024"));
    let no_database = [("error.type", text("57014"))].into_iter().collect();
    assert!(!is_rolled_back(&Outcomes::with(&[]), &no_database));
}
