import { z } from 'zod'
import { looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { logLevels } from './replies.ts'

export const topics = ['requests', 'server', 'load', 'logs'] as const
export type Topic = (typeof topics)[number]

const manyRequests = 10_000

/** A whole number in a query, where everything is text. */
function count(most: number, without: number) {
  const error = `a whole number from 0 to ${most}`
  return z
    .string()
    .regex(/^\d{1,6}$/, { error })
    .transform(Number)
    .refine((number) => number <= most, { error })
    .default(without)
}

const level = z.enum(logLevels, { error: `one of ${logLevels.join(', ')}` }).default('info')
const topicList = z
  .string()
  .transform((text) => text.split(',').map((name) => name.trim()))
  .pipe(z.array(z.enum(topics, { error: `some of ${topics.join(', ')}, with commas between them` })))
  .optional()

/** The query of `GET /api/events`. */
export const eventsSchema = looseObject({ topics: topicList, recent: count(manyRequests, 100), level })
/** The query of `GET /api/requests`. */
export const requestsSchema = looseObject({
  state: z.enum(['running', 'ended', 'all'], { error: 'running, ended or all' }).default('all'),
  limit: count(manyRequests, 100),
})
/** The query of `GET /api/logs`. */
export const logsSchema = looseObject({ level, limit: count(2000, 500) })

const day = z.iso.date({ error: 'a day of UTC, such as 2030-12-31' }).optional()
/** The query of `GET /api/usage`. */
export const usageSchema = looseObject({ from: day, to: day, key: z.string().optional() })
/** The query of `GET /api/catalogue`. */
export const catalogueSchema = looseObject({ search: z.string().max(200, { error: 'at most 200 characters' }).default('') })

function optionalCount(least: number) {
  const error = `a whole number from ${least} to 9999999`
  return z
    .string()
    .regex(/^\d{1,7}$/, { error })
    .transform(Number)
    .refine((number) => number >= least, { error })
    .optional()
}

const modelName = z.string({ error: 'the name of a model' }).min(1, { error: 'the name of a model' })
/** The query of `GET /api/model-file`. */
export const modelFileSchema = looseObject({
  model: modelName,
  context_length: optionalCount(1),
  slots: optionalCount(1),
  gpu_layers: optionalCount(0),
})
/** The query of `GET /api/load-estimate`. */
export const estimateSchema = looseObject({ model: modelName })
/** The query of `DELETE /api/model-file`. */
export const deleteFileSchema = looseObject({ model: modelName })

/** Throws `invalid-request` for invalid values. */
export const decodeEvents = (query: unknown) => validate(eventsSchema, query)
export const decodeRequests = (query: unknown) => validate(requestsSchema, query)
export const decodeLogs = (query: unknown) => validate(logsSchema, query)
export const decodeUsage = (query: unknown) => validate(usageSchema, query)
export const decodeModelFile = (query: unknown) => validate(modelFileSchema, query)
export const decodeEstimate = (query: unknown) => validate(estimateSchema, query)
export const decodeDeleteFile = (query: unknown) => validate(deleteFileSchema, query)
export const decodeCatalogue = (query: unknown) => validate(catalogueSchema, query)
