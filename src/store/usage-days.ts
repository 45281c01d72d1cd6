import type { Kysely } from 'kysely'
import type { UsageDays } from '../contract/store.ts'
import type { Tables } from './tables.ts'

/** The usage of callers, in a row for each day and model. */
export function createUsageDays(db: Kysely<Tables>): UsageDays {
  return {
    async add(entries) {
      if (entries.length === 0) return
      const rows = entries.map(({ day, caller, model, requests, ...tokens }) => ({
        day,
        caller,
        model,
        requests,
        input_tokens: tokens.inputTokens,
        cached_tokens: tokens.cachedInputTokens,
        output_tokens: tokens.outputTokens,
      }))
      const query = db.insertInto('usage_days').values(rows)
      await query
        .onConflict((conflict) =>
          conflict.columns(['day', 'caller', 'model']).doUpdateSet((row) => ({
            requests: row('usage_days.requests', '+', row.ref('excluded.requests')),
            input_tokens: row('usage_days.input_tokens', '+', row.ref('excluded.input_tokens')),
            cached_tokens: row('usage_days.cached_tokens', '+', row.ref('excluded.cached_tokens')),
            output_tokens: row('usage_days.output_tokens', '+', row.ref('excluded.output_tokens')),
          })),
        )
        .execute()
    },
    async read({ from, to, caller }) {
      let query = db.selectFrom('usage_days').selectAll().where('day', '>=', from)
      if (to !== undefined) query = query.where('day', '<=', to)
      if (caller !== undefined) query = query.where('caller', '=', caller)
      const rows = await query.orderBy('day', 'desc').orderBy('caller').orderBy('model').execute()
      return rows.map(({ day, caller, model, requests, ...tokens }) => ({
        day,
        caller,
        model,
        requests,
        inputTokens: tokens.input_tokens,
        cachedInputTokens: tokens.cached_tokens,
        outputTokens: tokens.output_tokens,
      }))
    },
  }
}
