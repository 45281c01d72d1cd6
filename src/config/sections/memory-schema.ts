import { z } from 'zod'
import { amount, count } from './value-types.ts'

const units: Readonly<Record<string, number>> = { MB: 1e6, GB: 1e9, TB: 1e12, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 }
const sizePattern = /^(\d+(?:\.\d+)?)\s*([MGT]i?B)$/

function sizeText(problem: string) {
  return z
    .string()
    .regex(sizePattern, problem)
    .transform((text) => {
      const [, number, unit] = sizePattern.exec(text) ?? []
      return Math.round(Number(number) * (units[unit ?? ''] ?? 1))
    })
}

const tier = z.union([z.literal('off'), count, sizeText('must be a size such as 2GB or 900MiB, bytes as a number, or off')])

export const prefixCache = z
  .union(
    [
      z.literal('off'),
      z.strictObject({
        memory: tier
          .exactOptional()
          .describe(
            'What prefixes in memory may use, as a part of `memory.budget`; absent: half of what the loaded models leave of it. What must ' +
              'leave the memory goes to the disk.',
          ),
        disk: tier
          .exactOptional()
          .describe(
            'What the files of this model in `prefix-cache` of the data folder may use; absent: a tenth of the free space, up to 8 GB.',
          ),
        minTokens: count.default(512).describe('The shortest prefix that is kept.'),
        keysShare: z
          .boolean()
          .default(false)
          .describe("Whether keys reuse what others' requests left, also in slots; each can then notice what others have sent."),
      }),
    ],
    { error: 'must be `off`, or an object with `memory`, `disk`, `minTokens` and `keysShare`' },
  )
  .prefault({})
  .describe(
    'Keeps the computed prompts of conversations whose slot another one has taken, or whose model was unloaded: in memory, and on the ' +
      'disk when they leave it. The least recently used go first.',
  )

/** Bytes, or a fraction of the machine's memory. */
const budget = z
  .union([
    z.number().positive(),
    sizeText('must be a size such as 12GB or 900MiB, bytes as a number, or a fraction of the memory such as 0.5'),
  ])
  .default(0.9)
  .describe(
    'What the models of this machine may use together: a size such as `12GB`, or a fraction of the memory of the machine or container. ' +
      'With a GPU that runs whole models, the size of its memory.',
  )

export const unloadAfterMs = z
  .union([count, z.literal('never')])
  .describe('How long an idle model stays loaded, in milliseconds; or `never`.')

export const memory = z
  .strictObject({
    budget,
    minResidencyMs: amount
      .default(10_000)
      .describe(
        'How long a loaded model serves before it makes room for one that is waited for, or as long as its load took if that is more. ' +
          'A model that has been idle for a second makes room earlier.',
      ),
    unloadAfterMs: unloadAfterMs.default('never'),
  })
  .describe('The memory that the models of this machine share. What does not fit together takes turns.')
