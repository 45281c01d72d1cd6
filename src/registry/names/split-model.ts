/** Split models have a few dozen parts. A name can claim up to 99,999, each of which would be looked for. */
const mostParts = 1000

/** The files of a model, one unless it is split. `isFirst`: `path` is the first. */
export function partsOf(path: string): { readonly parts: readonly string[]; readonly isFirst: boolean } {
  const [, begin, number, end, count] = /^(.*-)(\d{5})(-of-(\d{5})\.gguf)$/s.exec(path) ?? []
  const isSplit = begin !== undefined && end !== undefined && Number(count) > 0 && Number(count) <= mostParts
  if (!isSplit) return { parts: [path], isFirst: true }
  const parts = Array.from({ length: Number(count) }, (_, index) => `${begin}${`${index + 1}`.padStart(5, '0')}${end}`)
  return { parts, isFirst: Number(number) === 1 }
}
