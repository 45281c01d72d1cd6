import { z } from 'zod'
import { isErrorCode } from '../contract/errors.ts'

/** It was checked by the primary process. */
const config = z.custom<object>((value) => typeof value === 'object' && value !== null)

/** The messages of the primary process to a worker. */
export const orderSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('start'),
    config,
    index: z.int().min(0),
    count: z.int().min(1),
  }),
  z.object({ type: z.literal('reconfigure'), config }),
  /** Finish what runs, and end. */
  z.object({ type: z.literal('drain') }),
])
export type Order = z.output<typeof orderSchema>

/** The reports of a worker to the primary process. */
export const reportSchema = z.discriminatedUnion('type', [
  /** It reads messages from now on. */
  z.object({ type: z.literal('waiting') }),
  z.object({ type: z.literal('listening'), url: z.string() }),
  /** It could not start, and ends. */
  z.object({ type: z.literal('failed'), code: z.string().refine(isErrorCode), message: z.string() }),
])
export type Report = z.output<typeof reportSchema>
