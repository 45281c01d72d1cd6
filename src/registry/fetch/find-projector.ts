import { quantizationOf } from './choose-file.ts'

const projectorName = /(^|[-._])mmproj([-._]|$)/i

/** Number formats, the best compromise first. Others come last. */
const preferred = ['F16', 'BF16', 'Q8_0', 'F32']

type Options = {
  /** The files are quantizations of one model, as in a repository: the projector need not be named after it. */
  readonly isOneModel?: boolean
}

/** The multimodal projector of a model: named after it, or otherwise without a name of its own. Files in its own folder come first. */
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

/** The part of a file's name that identifies the model: without `mmproj`, the quantization and the part number. */
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
