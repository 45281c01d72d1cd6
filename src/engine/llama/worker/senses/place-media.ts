import { createHash } from 'node:crypto'
import { AppError } from '../../../../contract/errors.ts'
import { field } from '../../../../contract/field.ts'
import type { MediumParts } from '../../binding/senses.ts'
import { placeholders } from '../../binding/spans.ts'
import type { PlacedSlice } from '../../channel/ipc.ts'
import type { MarkedSegment, PromptMedium } from './mark-media.ts'
import type { MediaStore } from './media-store.ts'

/** The tokens of a prompt with media. */
export type PlacedPrompt = {
  readonly tokens: readonly number[]
  readonly slices: readonly PlacedSlice[]
  /** All tokens of each medium, with those of the projector around it. */
  readonly media: readonly PlacedMedium[]
}

/** `index`: among the prompt's media. */
type PlacedMedium = { readonly index: number; readonly start: number; readonly tokens: number }

/** `segment` and its index, among texts. */
type Tokenize = (segment: Extract<MarkedSegment, { text: string }>, index: number) => readonly number[]

type Placing = {
  readonly tokenize: Tokenize
  readonly store: Pick<MediaStore, 'partsOf'>
  /** In tokens. */
  readonly longestPass: number
}

/** Puts the tokens of texts and media together. Throws `invalid-request` for media that cannot be decoded, or computed. */
export async function placeMedia(
  segments: readonly MarkedSegment[],
  media: readonly PromptMedium[],
  { tokenize, store, longestPass }: Placing,
): Promise<PlacedPrompt> {
  const tokens: number[] = []
  const slices: PlacedSlice[] = []
  const places: PlacedMedium[] = []
  for (const [index, segment] of segments.entries()) {
    if ('text' in segment) {
      tokens.push(...tokenize(segment, index))
      continue
    }
    const medium = media[segment.medium] as PromptMedium
    const { sha256 } = medium.bytes
    const start = tokens.length
    for (const [part, each] of (await partsOf(medium, store)).entries()) {
      if (each.type === 'text') tokens.push(...each.tokens)
      else {
        if (!each.isCausal && each.tokens > longestPass) throw tooLong(medium, each.tokens, longestPass)
        slices.push({ start: tokens.length, tokens: each.tokens, positions: each.positions, sha256, part })
        tokens.push(...placeholdersOf(sha256, part, each.tokens))
      }
    }
    places.push({ index: segment.medium, start, tokens: tokens.length - start })
  }
  return { tokens, slices, media: places }
}

/** The prompt with a token in front. */
export function withFirst(token: number, { tokens, slices, media }: PlacedPrompt): PlacedPrompt {
  const later = <P extends { readonly start: number }>(place: P): P => ({ ...place, start: place.start + 1 })
  return { tokens: [token, ...tokens], slices: slices.map(later), media: media.map(later) }
}

function tooLong({ kind, at }: PromptMedium, tokens: number, longestPass: number): AppError {
  const message =
    `${field(...at)}: this ${kind} has ${tokens} tokens, which this model must compute in one pass, and a pass has ${longestPass}: ` +
    'send a smaller one, or set a larger `batchSize` of the model'
  return new AppError('invalid-request', message, { at })
}

async function partsOf({ kind, bytes, at }: PromptMedium, store: Pick<MediaStore, 'partsOf'>): Promise<MediumParts> {
  const parts = await store.partsOf(bytes.sha256, bytes.base64)
  if (parts !== undefined) return parts
  const message = `${field(...at)}: this ${kind} (${bytes.mediaType}, ${bytes.sizeBytes} bytes) cannot be decoded; check that the file is complete`
  throw new AppError('invalid-request', message, { at })
}

function placeholdersOf(sha256: string, part: number, count: number): Uint32Array {
  const hash = createHash('sha256').update(`${sha256} ${part}`).digest()
  return placeholders(new Uint32Array(hash.buffer, hash.byteOffset, hash.length / Uint32Array.BYTES_PER_ELEMENT), count)
}
