import { z } from 'zod'

const usual = { bound: 1.5 } as const

/** How requests of a remote model follow their prompts. */
export const affinity = z
  .union(
    [
      z.literal('off'),
      z.strictObject({
        bound: z
          .number()
          .min(1)
          .max(100)
          .default(usual.bound)
          .describe(
            'How busy such a replica may be, in mean loads of all replicas; above it, another one reads the prompt anew. More finds more in ' +
              'the caches and balances the load less.',
          ),
      }),
    ],
    { error: 'must be `off`, or an object with `bound` (from 1 to 100)' },
  )
  .default(usual)
  .describe(
    'Requests go to a replica that has read the beginning of their prompt, and has it in its cache; `off`: to the least loaded one.',
  )
