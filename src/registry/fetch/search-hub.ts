import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { requestHub } from './hugging-face.ts'

/** A repository of GGUF files. */
export type FoundRepository = { readonly id: string; readonly downloads: number; readonly likes: number }

const replySchema = z.array(z.object({ id: z.string(), downloads: z.number().default(0), likes: z.number().default(0) }))

type SearchOptions = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly limit: number
  readonly responseTimeoutMs: number
}

/** The repositories of Hugging Face with GGUF files whose names have this text, the most downloaded first. Throws `model-unavailable`. */
export async function searchHub(
  text: string,
  { env, limit, responseTimeoutMs }: SearchOptions,
): Promise<readonly FoundRepository[]> {
  const query = new URLSearchParams({ search: text, filter: 'gguf', sort: 'downloads', direction: '-1', limit: String(limit) })
  const { body, host } = await requestHub(`/api/models?${query}`, { env, responseTimeoutMs, signal: undefined })
  const parsed = replySchema.safeParse(body)
  if (parsed.success) return parsed.data
  throw new AppError('model-unavailable', `${host} did not send a list of models`)
}
