import type { MediaPart } from '../contract/request.ts'

/** The edge in pixels of one token in many models: Qwen's patches of 14, four together. Anthropic's rule is about the same. */
const tokenEdge = 28
const leastOfImage = 64
const mostOfImage = 4096
/** The tokens of a second in encoders like Whisper's. */
const tokensPerSecond = 25
/** For an unknown size. */
const usual = 1024

/** An estimate of the tokens of media, if the server does not count them. */
export function estimateMediaTokens({ kind, source }: MediaPart): number {
  if (source.type !== 'bytes') return usual
  const { width, height, durationMs } = source
  if (kind === 'image' && width !== undefined && height !== undefined) {
    const tokens = Math.ceil(width / tokenEdge) * Math.ceil(height / tokenEdge)
    return Math.min(mostOfImage, Math.max(leastOfImage, tokens))
  }
  return kind === 'audio' && durationMs !== undefined ? Math.ceil((durationMs / 1000) * tokensPerSecond) : usual
}
