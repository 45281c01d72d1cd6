import { z } from 'zod'
import { contextLength, draft, modelId } from './model-fields.ts'
import { refuseArgument, refuseWithAdapters } from './reserved-arguments.ts'
import { checkFileFields, fileFields, servedFields } from './shared-fields.ts'
import { mtp } from './speculation-schema.ts'
import { optionalCount, optionalText } from './value-types.ts'

const args = z
  .array(z.string().regex(/^[^\0]*$/, 'must not contain a NUL'))
  .check(({ value, issues }) => {
    for (const [index, argument] of value.entries()) {
      const message = refuseArgument(argument)
      if (message !== undefined) issues.push({ code: 'custom', path: [index], message, input: argument })
    }
  })
  .describe('Further arguments for llama-server, one entry for each word, such as `["--numa", "distribute"]`.')

export const llamaServerModel = z
  .strictObject({
    engine: z.literal('llama-server').describe("A GGUF file, run by the user's own llama-server, which Dragoman starts."),
    id: modelId,
    ...fileFields,
    binary: optionalText.describe(
      'The program: a path, or a name without slashes that is looked up on PATH. Absent: the build that `dragoman runtime` has fetched and ' +
        'uses, or `llama-server` on PATH.',
    ),
    contextLength: contextLength
      .exactOptional()
      .describe(
        'Tokens that one request may use, prompt and output together; absent: what the model was trained for, as far as its share of ' +
          '`memory.budget` goes. Beyond that its texts get worse. Memory is allocated for every slot.',
      ),
    threads: optionalCount.describe("CPU threads; absent: llama-server's own choice."),
    flashAttention: z
      .union([z.boolean(), z.literal('auto')])
      .default('auto')
      .describe('Faster attention that needs less memory; `auto`: where the device supports it.'),
    speculation: mtp.describe('Speculative decoding by layers of the model itself.').exactOptional(),
    draft: draft.exactOptional(),
    args: args.default([]),
    ...servedFields,
  })
  .check(checkFileFields)
  .check(({ value, issues }) => {
    if (value.speculation !== undefined && (value.draft !== undefined || value.args.includes('--spec-type'))) {
      const both = 'cannot be used together with `draft`, or `--spec-type` in `args`: remove one of them'
      issues.push({ code: 'custom', path: ['speculation'], message: both, input: value.speculation })
    }
    if (value.adapters === undefined) return
    for (const [index, argument] of value.args.entries()) {
      const instead = refuseWithAdapters(argument)
      if (instead !== undefined) issues.push({ code: 'custom', path: ['args', index], message: instead, input: argument })
    }
  })
  .describe('A model that a llama-server runs: for images, audio, speculative decoding, and custom builds of llama.cpp.')
