import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { requestHub } from './hugging-face.ts'

type FoundRepository = {
  readonly id: string
  readonly downloads: number
  readonly likes: number
  /** What its model reads besides text, by the hub's name for its purpose. */
  readonly reads?: string
}

const replySchema = z.array(
  z.object({
    id: z.string(),
    downloads: z.number().default(0),
    likes: z.number().default(0),
    pipeline_tag: z.string().optional(),
  }),
)

const readBy: Readonly<Record<string, string>> = {
  'image-text-to-text': 'images',
  'video-text-to-text': 'images',
  'visual-question-answering': 'images',
  'audio-text-to-text': 'sounds',
  'automatic-speech-recognition': 'sounds',
  'any-to-any': 'images, sounds',
}

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
  if (parsed.success) {
    return parsed.data.map(({ pipeline_tag: purpose = '', ...repository }) => {
      const reads = readBy[purpose]
      return { ...repository, ...(reads !== undefined && { reads }) }
    })
  }
  throw new AppError('model-unavailable', `${host} did not send a list of models`)
}
