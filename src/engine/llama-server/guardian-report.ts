import { z } from 'zod'

export const guardianReportSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('started'), pid: z.int() }),
  z.object({ type: z.literal('not-started'), message: z.string() }),
  z.object({ type: z.literal('exited'), code: z.int().nullable(), signal: z.string().nullable() }),
])
