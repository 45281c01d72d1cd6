import { z } from 'zod'
import { didYouMean } from '../../registry/names/near-name.ts'
import { optionalFlag } from './value-types.ts'

const override = z
  .strictObject({
    override: z.unknown().describe('The value, as a request would send it.'),
    force: optionalFlag.describe('The value also replaces one in the request.'),
    additive: optionalFlag.describe("A list that is prepended to the request's own."),
  })
  .describe('Without `force` and `additive`, the value is used where the request has none.')

export const sampling = z
  .strictObject({
    preset: z.string().exactOptional().describe('The preset in use when the server starts; absent: none.'),
    presets: z
      .record(
        z.string().regex(/^[\w.-]{1,64}$/, 'must be a name of letters, digits, `.`, `_` and `-`'),
        z
          .record(z.string(), override)
          .describe('Request fields, such as `temperature`, and the values that the preset gives them.'),
      )
      .default({})
      .describe('Presets that can be switched to while the server runs, by name.'),
  })
  .check(({ value, issues }) => {
    const { preset, presets } = value
    if (preset === undefined || Object.hasOwn(presets, preset)) return
    const names = Object.keys(presets)
    const message = `must be one of the presets (${names.join(', ') || 'there are none'})${didYouMean(preset, names)}`
    issues.push({ code: 'custom', path: ['preset'], message, input: preset })
  })
  .describe('Sampling settings of the operator for all requests to all models, as in tabbyAPI.')
