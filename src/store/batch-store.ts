import { type Insertable, type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import {
  type Batch,
  type BatchLine,
  type BatchStore,
  endedStates,
  type LineEnding,
  type LineKey,
  type LineResult,
} from '../contract/server/batches.ts'
import type { Tables } from './tables.ts'

/** A statement with more rows takes long to build, and to run. */
const maxStatementRows = 200
/** Lines that end together without having run: their numbers are in memory. */
const mostEnded = 2000

type BatchRow = Selectable<Tables['batches']>

type BatchStoreOptions = {
  readonly type: 'sqlite' | 'postgres'
  /** Milliseconds of the epoch. */
  now(): number
  expiry(createdAtMs: number): number
}

/** Batches in tables of their own; their lines have no owner, and are reached by the ids of their batches. */
export function createBatchStore(db: Kysely<Tables>, { type, now, expiry }: BatchStoreOptions): BatchStore {
  const kept = () => db.selectFrom('batches').selectAll().where('expires_at', '>', now())
  const waiting = (id: string) =>
    db.selectFrom('batch_lines').where('batch_id', '=', id).where('ending', 'is', null).where('runner', 'is', null)
  /** The lines that a runner has. */
  const held = (on: Kysely<Tables>, runner: string) =>
    on.updateTable('batch_lines').where('runner', '=', runner).where('ending', 'is', null)
  /** A row that is read in order to change it must stay as it was read. */
  const isShared = type === 'postgres'

  return {
    async create(batch) {
      const row = { ...toRow(batch), expires_at: expiry(batch.createdAtMs), ...toCounters(batch) }
      await db.insertInto('batches').values(row).execute()
    },
    async find(owner, id) {
      const row = await kept().where('id', '=', id).where('owner', '=', owner).executeTakeFirst()
      return row && toBatch(row)
    },
    async list(owner, form) {
      const query = kept().where('owner', '=', owner).where('form', '=', form).orderBy('created_at', 'desc').orderBy('id')
      return (await query.execute()).map(toBatch)
    },
    async delete(owner, id) {
      await db.deleteFrom('batches').where('id', '=', id).where('owner', '=', owner).execute()
    },
    async active() {
      const rows = await kept().where('state', 'not in', endedStates).orderBy('created_at').orderBy('id').execute()
      return rows.map(toBatch)
    },
    change: (id, edit) =>
      db.transaction().execute(async (transaction) => {
        const found = transaction.selectFrom('batches').selectAll().where('id', '=', id)
        const row = await (isShared ? found.forUpdate() : found).executeTakeFirst()
        const changed = row && edit(toBatch(row))
        if (changed === undefined) return undefined
        await transaction.updateTable('batches').set(toRow(changed)).where('id', '=', id).execute()
        return changed
      }),
    async addLines(id, lines) {
      const rows = lines.map((line) => toLineRow(id, line))
      await db.transaction().execute(async (transaction) => {
        for (let start = 0; start < rows.length; start += maxStatementRows) {
          await transaction
            .insertInto('batch_lines')
            .values(rows.slice(start, start + maxStatementRows))
            .execute()
        }
      })
    },
    async deleteLines(id) {
      await db.deleteFrom('batch_lines').where('batch_id', '=', id).execute()
      await db.updateTable('batches').set({ size_bytes: 0 }).where('id', '=', id).execute()
    },
    async waitingModels(id) {
      const rows = await waiting(id).select('model').distinct().where('not_before', '<=', now()).execute()
      return rows.map(({ model }) => model)
    },
    async claim(id, { model, runner, limit, groupings, ready, untilMs }) {
      const inOrder = (count: number, grouping?: string) => {
        const lines = waiting(id).select('line').where('model', '=', model).where('not_before', '<=', now())
        const chosen = grouping === undefined ? lines : lines.where('grouping', '=', grouping)
        const next = chosen.orderBy('grouping').orderBy('line').limit(count)
        return db.selectFrom((isShared ? next.forUpdate().skipLocked() : next).as('next')).select('line')
      }
      const first = await firstGroupings(db, { id, model, count: groupings })
      const share = Math.ceil((limit + [...ready.values()].reduce((sum, count) => sum + count, 0)) / first.length)
      const evenly = first.map((grouping) => inOrder(Math.max(0, share - (ready.get(grouping) ?? 0)), grouping))
      const next = [...evenly, inOrder(limit)].reduce((all, part) => all.unionAll(part))
      const rows = await db
        // PostgreSQL runs a query with locks anew for each row where it is not a table of its own, and then locks more than the limit.
        .with('next_lines', () => next.limit(limit))
        .updateTable('batch_lines')
        .set({ runner, lease_until: untilMs })
        .where('batch_id', '=', id)
        .where('line', 'in', (query) => query.selectFrom('next_lines').select('line'))
        .where('runner', 'is', null)
        .returning(['line', 'custom_id', 'model', 'grouping', 'body', 'attempts'])
        .execute()
      return rows
        .map(({ custom_id, body, ...row }) => ({ ...row, batchId: id, customId: custom_id, body: body ?? '' }))
        .sort((one, other) => (one.grouping < other.grouping ? -1 : one.grouping > other.grouping ? 1 : one.line - other.line))
    },
    renew: (runner, lines, untilMs) =>
      db.transaction().execute(async (transaction) => {
        for (const [id, numbers] of linesByBatch(lines)) {
          const renewed = held(transaction, runner).set({ lease_until: untilMs }).where('batch_id', '=', id)
          for (let start = 0; start < numbers.length; start += maxStatementRows) {
            await renewed.where('line', 'in', numbers.slice(start, start + maxStatementRows)).execute()
          }
        }
      }),
    async giveBack(runner, { batchId, line, attempts, notBeforeMs }) {
      await held(db, runner)
        .set({ runner: null, lease_until: null, attempts, not_before: notBeforeMs })
        .where('batch_id', '=', batchId)
        .where('line', '=', line)
        .execute()
    },
    finish: (runner, results) =>
      db.transaction().execute(async (transaction) => {
        for (let start = 0; start < results.length; start += maxStatementRows) {
          const page = results.slice(start, start + maxStatementRows)
          const { rows } = await ending(runner, page).execute(transaction)
          const ended = new Set(rows.map(keyOf))
          for (const [id, counters] of sumUp(page.filter((result) => ended.has(keyOf(result))))) {
            await addTo(transaction, id, counters)
          }
        }
      }),
    async freeAbandoned() {
      const abandoned = db.updateTable('batch_lines').set({ runner: null, lease_until: null }).where('runner', 'is not', null)
      await abandoned.where('lease_until', '<=', now()).execute()
    },
    async endWaiting(id, ending) {
      for (let count = mostEnded; count === mostEnded; ) {
        count = await db.transaction().execute(async (transaction) => {
          const page = waiting(id).select('line').limit(mostEnded)
          const changed = await transaction
            .updateTable('batch_lines')
            .set({ ending, body: null })
            .where('batch_id', '=', id)
            .where('line', 'in', page)
            .where('ending', 'is', null)
            .where('runner', 'is', null)
            .returning('line')
            .execute()
          await addTo(transaction, id, { [ending]: changed.length })
          return changed.length
        })
      }
    },
    async hasWork(id) {
      const query = db.selectFrom('batch_lines').select('line').where('batch_id', '=', id).where('ending', 'is', null)
      return (await query.limit(1).executeTakeFirst()) !== undefined
    },
    async results(id, after, limit) {
      const rows = await db
        .selectFrom('batch_lines')
        .select(['line', 'custom_id', 'ending', 'status', 'request_id', 'reply'])
        .where('batch_id', '=', id)
        .where('line', '>', after)
        .where('ending', 'is not', null)
        .orderBy('line')
        .limit(limit)
        .execute()
      return rows.map(({ line, custom_id, ending, status, request_id, reply }) => ({
        line,
        customId: custom_id,
        ending: ending ?? 'errored',
        ...(status !== null && { status }),
        ...(request_id !== null && { requestId: request_id }),
        ...(reply !== null && { reply }),
      }))
    },
  }
}

type Wanted = { readonly id: string; readonly model: string; readonly count: number }

/** The first groupings of lines that wait, each found in the index with one step. */
async function firstGroupings(db: Kysely<Tables>, { id, model, count }: Wanted): Promise<readonly string[]> {
  const waiting = sql`from batch_lines where batch_id = ${id} and model = ${model} and ending is null and runner is null`
  const { rows } = await sql<{ grouping: string }>`
    with recursive found (number, grouping) as (
      select 1, (select min(grouping) ${waiting})
      union all
      select number + 1, (select min(grouping) ${waiting} and batch_lines.grouping > found.grouping)
      from found where found.grouping is not null and number < ${count}
    )
    select grouping from found where grouping is not null`.execute(db)
  return rows.map(({ grouping }) => grouping)
}

type Finished = LineKey & LineResult

/** One statement for many lines, which takes a tenth of the time of one for each. */
function ending(runner: string, results: readonly Finished[]) {
  const rows = results.map(({ batchId, line, ending: how, status = null, requestId = null, reply = null }) => {
    return sql`(${batchId}, ${line}, ${how}, ${status}, ${requestId}, ${reply})`
  })
  // PostgreSQL takes the values for texts.
  return sql<LineKey>`
    with ended (batch_id, line, ending, status, request_id, reply) as (values ${sql.join(rows)})
    update batch_lines set
      ending = ended.ending, status = cast(ended.status as integer), request_id = ended.request_id, reply = ended.reply,
      body = null, runner = null, lease_until = null
    from ended
    where batch_lines.batch_id = ended.batch_id and batch_lines.line = cast(ended.line as integer)
      and batch_lines.runner = ${runner} and batch_lines.ending is null
    returning batch_lines.batch_id as "batchId", batch_lines.line as line`
}

function linesByBatch(lines: readonly LineKey[]): ReadonlyMap<string, number[]> {
  const numbers = new Map<string, number[]>()
  for (const { batchId, line } of lines) {
    const known = numbers.get(batchId)
    if (known === undefined) numbers.set(batchId, [line])
    else known.push(line)
  }
  return numbers
}

function keyOf({ batchId, line }: LineKey): string {
  return `${batchId} ${line}`
}

/** What results add to the counters of their batches. */
function sumUp(results: readonly Finished[]): ReadonlyMap<string, Partial<Counters>> {
  const sums = new Map<string, Partial<Counters>>()
  for (const { batchId, ...result } of results) {
    const sum = sums.get(batchId) ?? {}
    for (const [name, count] of Object.entries(countersOf(result)) as [keyof Counters, number][]) {
      sum[name] = (sum[name] ?? 0) + count
    }
    sums.set(batchId, sum)
  }
  return sums
}

const counterNames = [
  'succeeded',
  'errored',
  'cancelled',
  'expired',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'size_bytes',
] as const
type Counters = Record<(typeof counterNames)[number], number>

async function addTo(transaction: Transaction<Tables>, id: string, counters: Partial<Counters>): Promise<void> {
  const names = counterNames.filter((name) => (counters[name] ?? 0) !== 0)
  if (names.length === 0) return
  await transaction
    .updateTable('batches')
    .set((row) => Object.fromEntries(names.map((name) => [name, row(name, '+', counters[name] ?? 0)])))
    .where('id', '=', id)
    .execute()
}

function countersOf({ ending, usage, reply = '' }: LineResult): Partial<Counters> {
  return {
    [ending satisfies LineEnding]: 1,
    size_bytes: Buffer.byteLength(reply),
    ...(usage !== undefined && {
      input_tokens: usage.inputTokens,
      cached_tokens: usage.cachedInputTokens,
      output_tokens: usage.outputTokens,
      reasoning_tokens: usage.reasoningTokens,
    }),
  }
}

/** What is written with each change; the counters are only added to. */
function toRow({ id, owner, form, state, createdAtMs, counts, usage: _, ...rest }: Batch) {
  return { id, owner, form, state, created_at: createdAtMs, total: counts.total, json: JSON.stringify(rest) }
}

function toCounters({ counts: { total, ...ended }, usage }: Batch): Counters {
  return {
    ...ended,
    input_tokens: usage.inputTokens,
    cached_tokens: usage.cachedInputTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    size_bytes: 0,
  }
}

function toBatch(row: BatchRow): Batch {
  const { id, owner, form, state, total, succeeded, errored, cancelled, expired } = row
  return {
    ...(JSON.parse(row.json) as Pick<Batch, 'deadlineMs' | 'endpoint' | 'times'>),
    id,
    owner,
    form,
    state,
    createdAtMs: row.created_at,
    counts: { total, succeeded, errored, cancelled, expired },
    usage: {
      inputTokens: row.input_tokens,
      cachedInputTokens: row.cached_tokens,
      outputTokens: row.output_tokens,
      reasoningTokens: row.reasoning_tokens,
    },
  }
}

function toLineRow(id: string, { line, customId, model, grouping, body }: BatchLine): Insertable<Tables['batch_lines']> {
  return { batch_id: id, line, custom_id: customId, model, grouping, body, attempts: 0, not_before: 0 }
}
