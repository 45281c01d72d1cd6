import { z } from 'zod'

/** What processes of one server send each other. Both ends have the same version; what does not fit is a fault of ours. */

const usage = z.object({
  requests: z.number(),
  tokens: z.number(),
  isStretched: z.boolean(),
  minute: z.number(),
  endsAtMs: z.number(),
})
const share = z.object({
  requests: z.number(),
  tokens: z.number(),
  isStretched: z.boolean(),
  untilMs: z.number().exactOptional(),
})
const limits = z.object({ requestsPerMinute: z.number().exactOptional(), tokensPerMinute: z.number().exactOptional() })
const settlement = z.object({
  tokens: z.number(),
  requests: z.number().exactOptional(),
  isStretched: z.boolean(),
  minute: z.number(),
})

const cancel = z.object({
  by: z.string(),
  isAdmin: z.boolean(),
  cancelId: z.string().exactOptional(),
  sessionId: z.string().exactOptional(),
  replyIds: z.array(z.string()),
})
const decision = z.object({
  callId: z.string(),
  by: z.string(),
  isAdmin: z.boolean(),
  isApproved: z.boolean(),
  reason: z.string().exactOptional(),
})
/** A preset comes from a request that was decoded by another process. */
const preset = z.discriminatedUnion('type', [
  z.object({ type: z.literal('named'), name: z.string() }),
  z.object({ type: z.literal('own'), preset: z.custom<import('../contract/server/sampling-preset.ts').ReadPreset>() }),
  z.object({ type: z.literal('none') }),
])
const drain = z.object({ model: z.string(), url: z.string(), isDraining: z.boolean() })
const passed = z.object({ model: z.string(), urls: z.array(z.string()) })
const activityQuestion = z.custom<import('../contract/server/activity.ts').ActivityQuestion>()
const processPage = z.custom<import('../contract/server/activity.ts').ProcessPage>()
const request = z.custom<import('../contract/server/activity.ts').RequestSnapshot>().nullable()
const soughtRequest = { id: z.string(), owner: z.string().exactOptional() }

/** The questions of a worker to the primary process. */
export const questionSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('read-usage'), account: z.string() }),
  z.object({ type: z.literal('take'), account: z.string(), share, limits }),
  z.object({ type: z.literal('settle'), account: z.string(), settlement }),
  z.object({ type: z.literal('cancel'), cancel }),
  z.object({ type: z.literal('decide'), decision }),
  z.object({ type: z.literal('lock'), name: z.string() }),
  z.object({ type: z.literal('unlock'), name: z.string() }),
  z.object({ type: z.literal('metrics') }),
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('preset'), choice: preset }),
  z.object({ type: z.literal('drain'), change: drain }),
  z.object({ type: z.literal('passed'), checks: passed }),
  z.object({ type: z.literal('activity'), question: activityQuestion }),
  z.object({ type: z.literal('request'), ...soughtRequest }),
])
export type Question = z.output<typeof questionSchema>

/** The questions of the primary process to a worker. */
export const dutySchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('cancel'), cancel }),
  z.object({ type: z.literal('decide'), decision }),
  z.object({ type: z.literal('metrics') }),
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('preset'), choice: preset }),
  z.object({ type: z.literal('drain'), change: drain }),
  z.object({ type: z.literal('passed'), checks: passed }),
  z.object({ type: z.literal('activity'), question: activityQuestion }),
  z.object({ type: z.literal('request'), ...soughtRequest }),
])
export type Duty = z.output<typeof dutySchema>

/** The primary's answers, by the type of the question. */
export const answerSchemas = {
  'read-usage': usage,
  /** Null: nothing was counted, because it would be too much. */
  take: usage.nullable(),
  settle: usage,
  cancel: z.number(),
  decide: z.boolean(),
  lock: z.boolean(),
  unlock: z.null(),
  metrics: z.string(),
  ready: z.boolean(),
  preset: z.null(),
  drain: z.null(),
  passed: z.null(),
  activity: z.array(processPage),
  request,
} as const satisfies Record<Question['type'], z.ZodType>
export type Answer<Type extends Question['type']> = z.output<(typeof answerSchemas)[Type]>

/** The workers' answers, by the type of the duty. */
export const dutyAnswerSchemas = {
  cancel: z.number(),
  decide: z.boolean(),
  metrics: z.array(z.unknown()),
  ready: z.boolean(),
  preset: z.null(),
  drain: z.null(),
  passed: z.null(),
  activity: processPage.nullable(),
  request,
} as const satisfies Record<Duty['type'], z.ZodType>
export type DutyAnswer<Type extends Duty['type']> = z.output<(typeof dutyAnswerSchemas)[Type]>
