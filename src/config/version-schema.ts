import { z } from 'zod'
import { endpoints } from './endpoints-schema.ts'

/** The `versions` of a remote model. */
export const versions = z
  .array(
    z
      .strictObject({
        name: z
          .string()
          .regex(/^(?!main$)[\w.-]{1,64}$/, 'must be a name of letters, digits, `.`, `_` and `-`, other than main')
          .describe('What callers choose it by.'),
        percent: z.number().min(0).max(100).describe('Of the conversations; the rest is served by the model itself.'),
        endpoints,
        upstreamModel: z.string().min(1).exactOptional().describe('The name of the model on these servers.'),
      })
      .describe('Servers of another version, a model of their own called `ID@NAME`, with all other settings of this one.'),
  )
  .min(1)
  .check(({ value, issues }) => {
    for (const [index, { name }] of value.entries()) {
      if (value.findIndex((other) => other.name === name) === index) continue
      issues.push({ code: 'custom', path: [index, 'name'], message: 'names two versions', input: value })
    }
    const total = value.reduce((sum, { percent }) => sum + percent, 0)
    if (total > 100) issues.push({ code: 'custom', path: [], message: `add up to ${total} percent: at most 100`, input: value })
  })
  .describe(
    'Other versions of the model that serve a part of its conversations, each from its first turn to its last. Callers may choose one with the ' +
      'header `x-dragoman-version`.',
  )
