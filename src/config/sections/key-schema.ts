import { z } from 'zod'
import { keyName } from '../../contract/principal.ts'
import { optionalCount, text } from './value-types.ts'

export const keyText = z.string().regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces, to fit into a header')

const limits = {
  requestsPerMinute: optionalCount.describe('Requests that a key may send in a minute; absent: without a limit.'),
  tokensPerMinute: optionalCount.describe(
    'Tokens that a key may use in a minute, prompts and outputs together; absent: without a limit.',
  ),
  toolCallsPerMinute: optionalCount.describe(
    'Calls of tools of the server that a key may have in a minute; absent: without a limit.',
  ),
  tokensPerDay: optionalCount.describe(
    'Tokens that a key may use in a day of UTC, prompts and outputs together; absent: without a limit.',
  ),
  tokensPerMonth: optionalCount.describe('The same for a month of UTC.'),
}

const { toolCallsPerMinute: _, ...groupLimits } = limits

export const keyGroups = z
  .record(z.string().regex(/^[\w.-]{1,64}$/, 'must be a name of letters, digits, `.`, `_` and `-`'), z.strictObject(groupLimits))
  .describe('Groups of keys, by name: limits that all keys of a group (`group` of a key) have together, besides their own.')

/** The limits of keys without their own. */
export const keyLimits = z
  .strictObject(limits)
  .describe('The limits of keys that have none of their own, except those with the scope `admin`.')

const keyObject = z.strictObject({
  key: keyText.describe('The key, as clients send it.'),
  name: z
    .string()
    .regex(
      keyName,
      'must be a name of letters, digits, `.`, `_` and `-`, other than `anyone` and `key-` with 8 hexadecimal digits',
    )
    .exactOptional()
    .describe('What the log calls callers with this key.'),
  scopes: z
    .array(z.enum(['inference', 'tools', 'metrics', 'admin']))
    .min(1)
    .default(['inference'])
    .describe(
      'What the key may do: `inference` uses models and reads about them, `tools` has the server run its tools for them, ' +
        '`metrics` reads /metrics, `admin` does everything, also what changes the replies to others: presets and chat templates.',
    ),
  models: z
    .array(text)
    .min(1)
    .exactOptional()
    .describe('The ids or aliases of the models that the key may use; others are not there for it. Absent: all.'),
  tools: z
    .array(text)
    .min(1)
    .exactOptional()
    .describe('With the scope `tools`: the names of the tools and MCP servers that the key may use. Absent: all.'),
  ...limits,
  group: z.string().exactOptional().describe('The group of `server.keyGroups` whose limits the key shares.'),
  expiresAt: z
    .union(
      [z.iso.date(), z.iso.datetime({ offset: true })],
      'must be a date or a time, such as 2030-12-31 or 2030-12-31T18:00:00Z',
    )
    .exactOptional()
    .describe('When the key stops working; a date is its beginning in UTC. Absent: never.'),
})

export const apiKeys = z
  .array(z.union([keyText, keyObject]))
  .min(1)
  .check(({ value, issues }) => {
    for (const [index, key] of value.entries()) {
      const name = typeof key === 'string' ? undefined : key.name
      const isTaken = value.some((other, at) => at < index && typeof other !== 'string' && other.name === name)
      if (name === undefined || !isTaken) continue
      issues.push({ code: 'custom', path: [index, 'name'], message: 'must differ from the names of other keys', input: value })
    }
  })
  .describe(
    'Keys that clients must send as bearer token; absent: none is needed on loopback, and elsewhere one is generated, which has ' +
      'all scopes. A key written as plain text may use models; a key with scopes, models or an end is an object.',
  )
