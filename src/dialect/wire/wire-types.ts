import { z } from 'zod'
import { list } from './first-fault.ts'

const maxTokenId = 0x7fffffff
const tokenId = z.int({ error: 'a token id' }).min(0, { error: 'a token id' }).max(maxTokenId, { error: 'a token id' })

/** The message for a number has the complete range: "at most 2" would leave the minimum to guess. */
export function numberBetween(min: number, max: number) {
  const error = `a number from ${min} to ${max}`
  return z.number({ error }).min(min, { error }).max(max, { error })
}

export function between(min: number, max: number) {
  return numberBetween(min, max).nullish()
}

export function numberFrom(min: number) {
  const error = `a number of at least ${min}`
  return z.number({ error }).min(min, { error })
}

export function atLeast(min: number) {
  return numberFrom(min).nullish()
}

export function numberAbove(min: number) {
  const error = `a number above ${min}`
  return z.number({ error }).gt(min, { error })
}

export function above(min: number) {
  return numberAbove(min).nullish()
}

export function wholeFrom(min: number) {
  const error = `an integer of at least ${min}`
  const integer = ({ code }: { readonly code?: string | undefined }) =>
    code === 'too_big' ? `an integer up to ${Number.MAX_SAFE_INTEGER}` : error
  return z.int({ error: integer }).min(min, { error })
}

export function integerFrom(min: number) {
  return wholeFrom(min).nullish()
}

export function integerBetween(min: number, max: number) {
  const error = `an integer from ${min} to ${max}`
  return z.int({ error }).min(min, { error }).max(max, { error })
}

/**
 * The type of an object that later versions of a protocol may add. It aborts on a known type: otherwise a union would report it instead of
 * the fault in the object of that type.
 */
export function typeOtherThan(isKnown: (type: string) => boolean) {
  return z.string().refine((type) => !isKnown(type), { abort: true })
}

/** A limit; clients of local servers write -1, or -2, for none. */
export function limitFrom(min: number) {
  const error = `an integer of at least ${min}, or -1 for no limit`
  const limit = z.int({ error }).min(-2, { error })
  return limit.refine((count) => count < 0 || count >= min, { error })
}

/** As `limitFrom`, for a field that may be absent. */
export function unlimitedOr(min: number) {
  return limitFrom(min).nullish()
}

/** Every piece of text is searched for each of them. */
const maxStops = 1024

export function stopList<Item extends z.ZodType>(sequence: Item, error: string) {
  return list(sequence, { error, max: { count: maxStops, error: `an array of at most ${maxStops} strings` } })
}

/** Clients send an empty object, too, when they set nothing. */
export function absentIfEmpty<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (isEmptyObject(value) ? null : value), schema.nullish())
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

export const anyNumber = z.number().nullish()
export const flag = z.boolean().nullish()
export const text = z.string().nullish()
export const nonEmptyText = z.string().min(1)
/** An array of token ids, of which there may be a million. */
export const tokenIdList = (max?: { readonly count: number; readonly error: string }) =>
  list(tokenId, { error: 'an array of token ids', accepts: isTokenId, ...(max !== undefined && { max }) })

function isTokenId(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maxTokenId
}
