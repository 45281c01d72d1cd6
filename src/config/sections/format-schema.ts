import { z } from 'zod'
import type { FormatSettings } from '../../contract/output-format.ts'
import { toolFormatNames } from '../../model-text/formats/format-names.ts'
import { optionalFlag } from './value-types.ts'

const tag = z.string().max(256).regex(/\S/, 'must be a text that the model writes, such as <think>')

/** How a model writes calls and reasoning, where its chat template misleads. */
export const formatFields = {
  toolFormat: z
    .enum(['auto', ...toolFormatNames])
    .exactOptional()
    .describe('The format of tool calls: `auto` (that of the chat template), `json`, `xml` or the name of a family of models.'),
  reasoningTags: z
    .strictObject({
      open: tag.describe('The text that begins reasoning, such as `<think>`.'),
      close: tag.describe(
        'The text that ends it, such as `</think>`; with white space at its end, white space behind it is dropped.',
      ),
    })
    .check(({ value: { open, close }, issues }) => {
      if (open.trim() !== close.trim()) return
      issues.push({ code: 'custom', path: ['close'], message: 'must not be the text that begins reasoning', input: close })
    })
    .exactOptional()
    .describe('The tags around reasoning; absent: those of the chat template.'),
  callsInReasoning: optionalFlag.describe(
    'Whether tool calls in reasoning are made: `true`, all; `false`, none. Absent: those behind which the reasoning does not end, since ' +
      'models forget to end it in front of a call.',
  ),
}

/** The settings in the form for engines. */
export function formatSettingsOf({ toolFormat, reasoningTags, callsInReasoning }: FormatSettings) {
  return {
    ...(toolFormat !== undefined && toolFormat !== 'auto' && { toolFormat }),
    ...(reasoningTags !== undefined && { reasoningTags }),
    ...(callsInReasoning !== undefined && { callsInReasoning }),
  }
}
