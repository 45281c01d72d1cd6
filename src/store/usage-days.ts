import type { Kysely } from 'kysely'
import type { UsageDays, Use } from '../contract/store.ts'
import type { Tables } from './tables.ts'

type Row = Tables['usage_days']

const counters = [
  'requests',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'batch_requests',
  'batch_input_tokens',
  'batch_cached_tokens',
  'batch_output_tokens',
] as const satisfies readonly (keyof Row)[]

/** The usage of callers, in a row for each day and model. */
export function createUsageDays(db: Kysely<Tables>): UsageDays {
  return {
    async add(entries) {
      if (entries.length === 0) return
      const rows = entries.map(({ day, caller, model, all, batch }): Row => {
        return { day, caller, model, ...toColumns('', all), ...toColumns('batch_', batch) }
      })
      const query = db.insertInto('usage_days').values(rows)
      await query
        .onConflict((conflict) =>
          conflict
            .columns(['day', 'caller', 'model'])
            .doUpdateSet((row) =>
              Object.fromEntries(counters.map((name) => [name, row(`usage_days.${name}`, '+', row.ref(`excluded.${name}`))])),
            ),
        )
        .execute()
    },
    async read({ from, to, caller }) {
      let query = db.selectFrom('usage_days').selectAll().where('day', '>=', from)
      if (to !== undefined) query = query.where('day', '<=', to)
      if (caller !== undefined) query = query.where('caller', '=', caller)
      const rows = await query.orderBy('day', 'desc').orderBy('caller').orderBy('model').execute()
      return rows.map(({ day, caller, model, ...row }) => {
        return { day, caller, model, all: toUse('', row), batch: toUse('batch_', row) }
      })
    },
  }
}

type Part = '' | 'batch_'
type Columns<P extends Part> = Pick<Row, `${P}requests` | `${P}input_tokens` | `${P}cached_tokens` | `${P}output_tokens`>

function toColumns<P extends Part>(part: P, { requests, inputTokens, cachedInputTokens, outputTokens }: Use): Columns<P> {
  // TypeScript does not compute the names of these columns.
  return {
    [`${part}requests`]: requests,
    [`${part}input_tokens`]: inputTokens,
    [`${part}cached_tokens`]: cachedInputTokens,
    [`${part}output_tokens`]: outputTokens,
  } as Columns<P>
}

function toUse(part: Part, row: Omit<Row, 'day' | 'caller' | 'model'>): Use {
  return {
    requests: row[`${part}requests`],
    inputTokens: row[`${part}input_tokens`],
    cachedInputTokens: row[`${part}cached_tokens`],
    outputTokens: row[`${part}output_tokens`],
  }
}
