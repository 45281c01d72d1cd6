import { z } from 'zod'
import { given } from '../../base/json.ts'
import { variablesOfReasoning, variablesOfRequests } from '../../canonical/own-variables.ts'
import type { ChatDefaults } from '../../contract/served-model.ts'
import { optionalFlag } from './value-types.ts'

const settings = { enabled: 'thinking', effort: 'effort', preserve: 'preserveThinking' } as const
const reserved: Readonly<Record<string, string>> = {
  ...Object.fromEntries(variablesOfRequests.map((name) => [name, 'each request has it'])),
  ...Object.fromEntries([...variablesOfReasoning].map(([name, kind]) => [name, `use \`${settings[kind]}\``])),
}
const variables = (refused: readonly string[]) =>
  z
    .record(z.string().regex(/^[A-Za-z_]\w*$/, 'must be a name of letters, digits and `_`'), z.json())
    .check(({ value, issues }) => {
      for (const name of Object.keys(value).filter((one) => refused.includes(one)))
        issues.push({ code: 'custom', path: [name], message: `cannot be set here: ${reserved[name]}`, input: value[name] })
    })

export const chatDefaults = z
  .strictObject({
    thinking: optionalFlag.describe(
      'Whether the model thinks where a request does not say; absent: as its chat template has it.',
    ),
    effort: z
      .string()
      .regex(/^\w+$/, 'must be a word, such as low')
      .exactOptional()
      .describe('The effort of thinking where a request names none, as the chat template knows it, such as low or high.'),
    preserveThinking: optionalFlag.describe(
      'Whether prompts include the thoughts of earlier turns where a request does not say.',
    ),
    variables: variables(Object.keys(reserved))
      .default({})
      .describe('Variables of the chat template, by name, where a request sets none.'),
    forcedVariables: variables(variablesOfRequests)
      .default({})
      .describe('Variables of the chat template that requests cannot change.'),
  })
  .describe('What conversations with this model are rendered with, on each engine and in each protocol.')

/** The settings in the form for core; undefined for a model without them. */
export function chatDefaultsOf(chat: z.output<typeof chatDefaults> | undefined): ChatDefaults | undefined {
  if (chat === undefined) return undefined
  const { thinking, effort, preserveThinking, variables: open, forcedVariables } = chat
  return {
    reasoning: {
      ...given({ enabled: thinking, effort, preserve: preserveThinking }),
    },
    variables: open,
    forcedVariables,
  }
}
