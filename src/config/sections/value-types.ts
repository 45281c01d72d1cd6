import { z } from 'zod'

/** Types that many settings have. A description of its own makes a setting of one. */
export const text = z.string().min(1)
export const optionalText = text.exactOptional()
export const optionalFlag = z.boolean().exactOptional()
export const count = z.int().min(1)
export const optionalCount = count.exactOptional()
/** Milliseconds, bytes, tokens or the like: a whole number from 0 on. */
export const amount = z.int().min(0)
export const share = z.number().min(0).max(1)
export const optionalShare = share.exactOptional()
/** From 0 on. */
export const optionalNumber = z.number().min(0).exactOptional()
