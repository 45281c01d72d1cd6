import { z } from 'zod'
import type { KeyLimits, Settlement, Share, Usage } from '../contract/quota.ts'

/** What processes of one server send each other. Both ends have the same version; what does not fit is a fault of ours. */

const name = z.string()
const row = z.object({ version: z.number(), json: z.unknown() })
const message = z.custom<object>((value) => typeof value === 'object' && value !== null)
const answers = z.array(z.unknown())

/** The functions of the primary process that workers call. */
export const calls = {
  publish: { args: z.tuple([name, message]), answer: answers },
  readDocument: { args: z.tuple([name, z.number()]), answer: row.optional() },
  writeDocument: { args: z.tuple([name, row]), answer: z.boolean() },
  readUsage: { args: z.tuple([name]), answer: z.custom<Usage>() },
  take: { args: z.tuple([name, z.custom<Share>(), z.custom<KeyLimits>()]), answer: z.custom<Usage | undefined>() },
  settle: { args: z.tuple([name, z.custom<Settlement>()]), answer: z.custom<Usage>() },
  lock: { args: z.tuple([name]), answer: z.boolean() },
  unlock: { args: z.tuple([name]), answer: z.undefined() },
  renderMetrics: { args: z.tuple([]), answer: z.string() },
} as const
export type Calls = { readonly [Name in keyof typeof calls]: (...args: Args<Name>) => Answer<Name> | Promise<Answer<Name>> }
export type Args<Name extends keyof typeof calls> = z.output<(typeof calls)[Name]['args']>
export type Answer<Name extends keyof typeof calls> = z.output<(typeof calls)[Name]['answer']>

export const callSchema = z.object({ call: z.enum(Object.keys(calls) as (keyof Calls)[]), args: z.array(z.unknown()) })

/** A message that the primary process passes on to a worker: each of the worker's listeners answers. */
export const deliverySchema = z.object({ topic: name, message })
export const deliveryAnswers = answers

/** The topic on which the primary process asks workers for their metrics. */
export const metricsTopic = 'metrics'
