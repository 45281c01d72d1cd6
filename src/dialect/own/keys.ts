import { z } from 'zod'
import { given } from '../../base/json.ts'
import { AppError } from '../../contract/errors.ts'
import { keyName } from '../../contract/principal.ts'
import type { KeyLimits } from '../../contract/quota.ts'
import type { ChosenKey, ListedKey } from '../../contract/server/keys.ts'
import { checkFields, type Field, indexFields, used } from '../wire/field-table.ts'
import { list, looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { integerFrom, nonEmptyText } from '../wire/wire-types.ts'
import type { WireKey } from './replies.ts'

const scopes = ['inference', 'tools', 'metrics', 'admin'] as const
const name =
  'a name of 1 to 64 letters, digits, dots, underscores and hyphens, other than anyone and key- with 8 hexadecimal digits'
const time = 'a date or a time, such as 2030-12-31 or 2030-12-31T18:00:00Z'

export const newKeySchema = looseObject({
  name: z.string({ error: name }).regex(keyName, { error: name }),
  scopes: list(z.enum(scopes, { error: `one of ${scopes.join(', ')}` }))
    .min(1)
    .nullish(),
  models: list(nonEmptyText).min(1).nullish(),
  tools: list(nonEmptyText).min(1).nullish(),
  requests_per_minute: integerFrom(1),
  tokens_per_minute: integerFrom(1),
  tool_calls_per_minute: integerFrom(1),
  tokens_per_day: integerFrom(1),
  tokens_per_month: integerFrom(1),
  group: nonEmptyText.nullish(),
  expires_at: z.union([z.iso.date(), z.iso.datetime({ offset: true })], { error: time }).nullish(),
})

export const newKeyFields: readonly Field[] = [
  used('name', 'required: what the log and the lists of requests call its callers'),
  used(
    'scopes',
    'some of `inference` (uses models), `tools` (has the server run tools), `metrics` (reads /metrics), `admin` (does everything); default `inference`',
  ),
  used('models', 'the ids or aliases of the models that it may use; absent: all'),
  used('tools', 'with the scope `tools`: the names of the tools and MCP servers that it may use; absent: all'),
  used('requests_per_minute', 'absent: as `server.keyLimits` says'),
  used('tokens_per_minute', 'prompts and outputs together; absent: as `server.keyLimits` says'),
  used('tool_calls_per_minute', 'calls of tools of the server; absent: as `server.keyLimits` says'),
  used('tokens_per_day', 'a budget for each day of UTC; absent: as `server.keyLimits` says'),
  used('tokens_per_month', 'a budget for each month of UTC; absent: as `server.keyLimits` says'),
  used('group', 'one of `server.keyGroups`, whose limits its keys share; absent: none'),
  used('expires_at', 'a date or a time, from which on it does not work; absent: never'),
]
const index = indexFields(newKeyFields)

const limitFields = {
  requests_per_minute: 'requestsPerMinute',
  tokens_per_minute: 'tokensPerMinute',
  tool_calls_per_minute: 'toolCallsPerMinute',
  tokens_per_day: 'tokensPerDay',
  tokens_per_month: 'tokensPerMonth',
} as const satisfies Record<string, keyof KeyLimits>
type LimitField = keyof typeof limitFields

const limitEntries = Object.entries(limitFields) as [LimitField, (typeof limitFields)[LimitField]][]

function decodeLimits(wire: { readonly [Name in LimitField]?: number | null | undefined }): KeyLimits {
  return Object.fromEntries(
    limitEntries.flatMap(([field, name]) => (typeof wire[field] === 'number' ? [[name, wire[field]]] : [])),
  )
}

function encodeLimits(limits: KeyLimits): { readonly [Name in LimitField]?: number } {
  return Object.fromEntries(limitEntries.flatMap(([field, name]) => (limits[name] === undefined ? [] : [[field, limits[name]]])))
}

/** `POST /api/keys`. Throws `invalid-request`, also for an expiry in the past. */
export function decodeNewKey(body: unknown, nowMs: number): { readonly chosen: ChosenKey; readonly ignored: readonly string[] } {
  const wire = validate(newKeySchema, body, index)
  const { name, scopes, models, tools, group, expires_at: end, ...rest } = wire
  const others = Object.entries(rest).filter(([name]) => !Object.hasOwn(limitFields, name))
  if (end !== undefined && end !== null && Date.parse(end) <= nowMs) {
    throw new AppError('invalid-request', `expires_at: '${end}' has passed; give a later time, or leave it out`, {
      param: 'expires_at',
    })
  }
  return {
    chosen: {
      name,
      scopes: [...new Set(scopes ?? ['inference' as const])],
      ...(models !== undefined && models !== null && { models }),
      ...(tools !== undefined && tools !== null && { tools }),
      ...decodeLimits(rest),
      ...(group !== undefined && group !== null && { group }),
      ...(end !== undefined && end !== null && { expiresAt: new Date(end).toISOString() }),
    },
    ignored: checkFields(index, Object.fromEntries(others)),
  }
}

export function encodeKey(key: ListedKey): WireKey {
  const { id, name, source, scopes, models, tools, group } = key
  return {
    id,
    ...(name !== undefined && { name }),
    source,
    scopes,
    ...given({ models, tools }),
    ...encodeLimits(key),
    ...given({ group, expires_at: key.expiresAt, created_at: key.createdAt, last_used_at: key.lastUsedAt }),
    ...given({ made_by: key.madeBy }),
  }
}
