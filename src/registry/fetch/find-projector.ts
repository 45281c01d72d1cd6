import { quantizationOf } from './choose-file.ts'

const projectorName = /(^|[-._])mmproj([-._]|$)/i

/** Numbers of images, the best compromise first. Names that are not listed come last. */
const preferred = ['F16', 'BF16', 'Q8_0', 'F32']

type Options = {
  /** All models among the files are one, in several quantizations, as in a repository: a projector needs not be named after it. */
  readonly isOneModel?: boolean
}

/**
 * The multimodal projector of a model among files: of those named after it, or else of those that have no name of their own. The
 * files of its own folder come before those of others.
 */
export function findProjector(files: readonly string[], model: string, { isOneModel = false }: Options = {}): string | undefined {
  const ggufs = files.filter((path) => /\.gguf$/i.test(path))
  const projectors = ggufs.filter((path) => projectorName.test(nameOf(path)))
  const own = stemOf(model)
  const others = ggufs.filter((path) => !projectorName.test(nameOf(path)) && folderOf(path) === folderOf(model))
  const isAlone = isOneModel || others.every((path) => stemOf(path) === own)
  const named = projectors.filter((path) => stemOf(path) === own)
  const fitting = named.length > 0 ? named : isAlone ? projectors : []
  const distance = (path: string) => (folderOf(path) === folderOf(model) ? 0 : 1)
  const rank = (path: string) => {
    const index = preferred.indexOf(quantizationOf(path) ?? '')
    return index === -1 ? preferred.length : index
  }
  return fitting.toSorted((a, b) => distance(a) - distance(b) || rank(a) - rank(b) || (a < b ? -1 : 1))[0]
}

/** What names the model in the name of a file: without `mmproj`, its quantization and the number of its part. */
function stemOf(path: string): string {
  const stem = nameOf(path)
    .replace(/\.gguf$/i, '')
    .replace(/-\d{5}-of-\d{5}$/, '')
  const quantization = quantizationOf(path)
  const words = stem.toLowerCase().split(/[-._]+/)
  const parts = (quantization ?? '').toLowerCase().split('_')
  const from = quantization === undefined ? -1 : words.findLastIndex((_, index) => isHere(words, parts, index))
  const kept = from === -1 ? words : words.toSpliced(from, parts.length)
  return kept.filter((word) => word !== 'mmproj' && word !== 'ud' && word !== 'fp16' && word !== 'fp32').join('-')
}

function isHere(words: readonly string[], parts: readonly string[], from: number): boolean {
  return parts.every((part, index) => words[from + index] === part)
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1)
}
