//! What a statement asks for, and whether it may.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use polars::prelude::{DataFrame, Engine, IntoLazy as _, LazyFrame, PolarsError, PolarsResult};
use polars::sql::SQLContext;
use sqlparser::ast::{
    Expr, Query, Select, SelectItem, SetExpr, Statement, TableFactor, Visit as _, Visitor,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserOptions};
use sqlparser::tokenizer::{Token, Tokenizer};

use super::{Answer, SqlError, Stream};
use crate::query::error::panic_words;
use crate::query::scan::{Selection, Within};
use crate::store::Snapshot;
use crate::store::tables::{Table, Wanted};

/// What `count(*)` is called where the statement names it nothing, as in other engines.
pub(super) const COUNT: &str = "count";
/// What the engine calls it.
pub(super) const ENGINES_COUNT: &str = "len";

/// A statement that may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    sql: String,
    wanted: Wanted,
    /// Its answer has a `count(*)` without a name.
    counts: bool,
}

impl Plan {
    /// Reads a statement: `SELECT …`, `WITH … SELECT …`, or such in set operations.
    ///
    /// # Errors
    /// It is no SQL, more than one statement, does something else than read, or names what is not
    /// there.
    pub fn parse(sql: &str) -> Result<Self, SqlError> {
        // As Polars parses it, so that both see the same statement.
        let options = ParserOptions {
            trailing_commas: true,
            ..ParserOptions::default()
        };
        let parsed = Parser::new(&GenericDialect)
            .with_options(options)
            .try_with_sql(sql)
            .and_then(|mut parser| parser.parse_statements());
        let statements = parsed.map_err(|error| SqlError::syntax(&error))?;
        let query = match statements.as_slice() {
            [] => return Err(SqlError::Empty),
            [Statement::Query(query)] => query,
            [other] => return Err(SqlError::not_reading(&other.to_string())),
            several => return Err(SqlError::Several(several.len())),
        };
        let mut seen = Seen::default();
        if let ControlFlow::Break(error) = query.visit(&mut seen) {
            return Err(error);
        }
        let names = words(sql);
        let mut tables = BTreeSet::new();
        for name in &seen.relations {
            if let Some(table) = Table::of(name) {
                tables.insert(table);
            } else if !seen.named.contains(name) {
                return Err(SqlError::no_table(name));
            }
        }
        let mut wanted = Wanted::tables(tables);
        // `COLUMNS('…')` picks by pattern, NATURAL by what both sides have.
        let picks = ["columns", "natural"];
        if !seen.wildcard
            && !names
                .iter()
                .any(|n| picks.contains(&n.to_lowercase().as_str()))
        {
            wanted = wanted.only_columns(names);
        }
        Ok(Self {
            sql: sql.to_owned(),
            wanted,
            counts: counts(query),
        })
    }

    /// The tables and columns that it needs.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Runs the statement over frames of the wanted tables. With `limit`, no more rows than that
    /// are worked out (but for one, to know whether there are more).
    ///
    /// # Errors
    /// What Polars says, in words for whoever wrote the statement.
    pub fn run(
        &self,
        frames: Vec<(Table, DataFrame)>,
        limit: Option<usize>,
    ) -> Result<Answer, SqlError> {
        let mut context = SQLContext::new();
        for (table, frame) in frames {
            context.register(table.as_str(), frame.lazy());
        }
        let frame = self.guarded(|| {
            let frame = self.named(context.execute(&self.sql)?)?;
            match more_than(limit) {
                Some(rows) => frame.limit(rows).collect(),
                None => frame.collect(),
            }
        })?;
        Ok(Answer::new(&frame, limit))
    }

    /// Runs the statement over the requests of a store and what belongs to them; no more rows
    /// than `limit` are worked out (but for one, to know whether there are more).
    ///
    /// # Errors
    /// The store cannot be read, or what Polars says.
    pub fn over(
        &self,
        snapshot: &Snapshot,
        selection: &Selection,
        limit: usize,
    ) -> Result<Answer, SqlError> {
        let frame = self.lazy(snapshot, selection)?;
        let frame = match more_than(Some(limit)) {
            Some(rows) => frame.limit(rows),
            None => frame,
        };
        let frame = self.guarded(|| {
            // It is one frame: only plans with several sinks give more.
            let result = frame.collect_with_engine(Engine::Streaming)?;
            Ok(result.unwrap_single())
        })?;
        Ok(Answer::new(&frame, Some(limit)))
    }

    /// As [`over`](Self::over), with all rows, as they are worked out.
    ///
    /// # Errors
    /// The store cannot be read, or what Polars says.
    pub fn stream(&self, snapshot: &Snapshot, selection: &Selection) -> Result<Stream, SqlError> {
        Stream::start(self, self.lazy(snapshot, selection)?, snapshot)
    }

    /// Only wanted tables are opened, and of those Polars reads the columns that it needs.
    fn lazy(&self, snapshot: &Snapshot, selection: &Selection) -> Result<LazyFrame, SqlError> {
        let mut context = SQLContext::new();
        for table in self.wanted.each() {
            let rows = selection.rows(snapshot, table, &Within::default());
            let rows = rows.map_err(|error| SqlError::Engine(error.to_string()))?;
            context.register(table.as_str(), rows);
        }
        self.guarded(|| self.named(context.execute(&self.sql)?))
    }

    /// Calls an unnamed `count(*)` what it is called elsewhere, if that name is free.
    fn named(&self, mut frame: LazyFrame) -> PolarsResult<LazyFrame> {
        if !self.counts {
            return Ok(frame);
        }
        let schema = frame.collect_schema()?;
        if schema.contains(ENGINES_COUNT) && !schema.contains(COUNT) {
            return Ok(frame.rename([ENGINES_COUNT], [COUNT], true));
        }
        Ok(frame)
    }

    /// Polars panics on some statements that it does not support (it unwraps what its parser
    /// accepts). What it worked on is dropped then, and nothing else is shared.
    fn guarded<T>(&self, run: impl FnOnce() -> PolarsResult<T>) -> Result<T, SqlError> {
        // Polars would print what it deprecates.
        polars::error::set_warning_function(|text, _| tracing::debug!("{text}"));
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(self.explained(&error)),
            Err(panic) => Err(SqlError::Unsupported(
                panic_words(panic.as_ref()).to_owned(),
            )),
        }
    }

    pub(super) fn explained(&self, error: &PolarsError) -> SqlError {
        let tables: Vec<Table> = self.wanted.each().collect();
        SqlError::from_polars(error, &tables)
    }
}

/// Whether a statement's answer has a `count(*)` without a name: its first SELECT tells the names.
fn counts(query: &Query) -> bool {
    let mut body = &*query.body;
    loop {
        match body {
            SetExpr::Select(select) => {
                let unnamed = |item: &SelectItem| match item {
                    SelectItem::UnnamedExpr(Expr::Function(call)) => {
                        let text = call.to_string().to_lowercase();
                        text == "count(*)" || text == "count()"
                    }
                    _ => false,
                };
                return select.projection.iter().any(unnamed);
            }
            SetExpr::Query(query) => body = &query.body,
            SetExpr::SetOperation { left, .. } => body = left,
            _ => return false,
        }
    }
}

/// One row more than the limit, to know whether there are more.
fn more_than(limit: Option<usize>) -> Option<u32> {
    limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX).saturating_add(1))
}

/// Every word of the statement, whatever it stands for: more than the names of its columns.
fn words(sql: &str) -> BTreeSet<String> {
    let tokens = Tokenizer::new(&GenericDialect, sql).tokenize();
    let tokens = tokens.unwrap_or_default().into_iter();
    tokens
        .filter_map(|token| match token {
            Token::Word(word) => Some(word.value),
            _ => None,
        })
        .collect()
}

/// What a walk through a statement finds.
#[derive(Debug, Default)]
struct Seen {
    /// Names of relations that it reads.
    relations: BTreeSet<String>,
    /// Names that it gives to relations of its own.
    named: BTreeSet<String>,
    /// `*` or `t.*`.
    wildcard: bool,
}

impl Visitor for Seen {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<SqlError> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.named.insert(table.alias.name.value.clone());
        }
        let mut bodies = vec![&*query.body];
        while let Some(body) = bodies.pop() {
            match body {
                // Their parts are visited on their own.
                SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => {}
                SetExpr::SetOperation { left, right, .. } => bodies.extend([&**left, &**right]),
                SetExpr::Table(table) => {
                    self.wildcard = true;
                    self.relations.extend(table.table_name.clone());
                }
                SetExpr::Insert(statement)
                | SetExpr::Update(statement)
                | SetExpr::Delete(statement)
                | SetExpr::Merge(statement) => {
                    return ControlFlow::Break(SqlError::not_reading(&statement.to_string()));
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<SqlError> {
        match statement {
            Statement::Query(_) => ControlFlow::Continue(()),
            other => ControlFlow::Break(SqlError::not_reading(&other.to_string())),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<SqlError> {
        self.wildcard |= select.projection.iter().any(|item| {
            matches!(
                item,
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
            )
        });
        if select.into.is_some() {
            return ControlFlow::Break(SqlError::not_reading("SELECT INTO"));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<SqlError> {
        match factor {
            TableFactor::Table {
                name, args: None, ..
            } => {
                let [part] = name.0.as_slice() else {
                    return ControlFlow::Break(SqlError::no_table(&name.to_string()));
                };
                let Some(ident) = part.as_ident() else {
                    return ControlFlow::Break(SqlError::no_table(&name.to_string()));
                };
                self.relations.insert(ident.value.clone());
            }
            TableFactor::Derived { alias, .. } => {
                self.named
                    .extend(alias.iter().map(|alias| alias.name.value.clone()));
            }
            TableFactor::NestedJoin { .. } | TableFactor::UNNEST { .. } => {}
            TableFactor::Table { name, .. } => {
                return ControlFlow::Break(SqlError::Source {
                    what: name.to_string(),
                });
            }
            other => {
                return ControlFlow::Break(SqlError::Source {
                    what: other.to_string(),
                });
            }
        }
        ControlFlow::Continue(())
    }
}
