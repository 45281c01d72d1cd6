import { AppError } from '../../contract/errors.ts'
import { formatBytes } from '../names/format-bytes.ts'
import { fitsMemory } from '../names/memory.ts'
import { fileProblem } from '../names/sources.ts'
import type { RepositoryFile } from './hugging-face.ts'

type FileChoice = { readonly file: string; readonly why: string }

/** Quantizations, the best compromise of size and quality first. Names that are not listed come last. */
const preferred = [
  ...['Q4_K_M', 'Q5_K_M', 'Q4_K_S', 'Q8_0', 'Q5_K_S', 'Q6_K', 'Q4_K_XL', 'Q4_K_L', 'Q5_K_XL', 'Q5_K_L', 'Q6_K_XL', 'Q6_K_L'],
  ...['Q4_0', 'Q4_1', 'IQ4_NL', 'IQ4_XS', 'MXFP4', 'MXFP4_MOE', 'Q4_K', 'Q5_K', 'Q5_0', 'Q5_1', 'Q8_K_XL', 'Q8_0_L'],
  ...['Q3_K_XL', 'Q3_K_L', 'Q3_K_M', 'IQ3_M', 'IQ3_S', 'Q3_K_S', 'IQ3_XS', 'IQ3_XXS', 'BF16', 'F16', 'F32'],
  ...['Q2_K_XL', 'Q2_K_L', 'Q2_K', 'Q2_K_S', 'IQ2_M', 'IQ2_S', 'IQ2_XS', 'IQ2_XXS', 'IQ1_M', 'IQ1_S'],
]

/** GGUF files beside a model: projectors of images, and matrices and adapters for making models. */
const notModels = /(^|[-._])(mmproj|imatrix|lora)([-._]|$)/i

/**
 * Chooses the model file of a repository: the most preferred quantization that fits into the memory. Throws `model-unavailable` with the
 * repository's model files when none fits.
 */
export function chooseFile(files: readonly RepositoryFile[], memoryBytes: number): FileChoice {
  const ggufs = files.filter(({ path }) => /\.gguf$/i.test(path)).toSorted((a, b) => (a.path < b.path ? -1 : 1))
  if (ggufs.length === 0) {
    throw new AppError('model-unavailable', 'the repository has no .gguf file; choose one of a repository with GGUF files')
  }
  const candidates = ggufs.filter(({ path }) => fileProblem(path) === undefined && !isBesideModels(nameOf(path)))
  if (candidates.length === 0) {
    const why = 'no .gguf file of the repository can be taken by itself (projectors, and parts of split models, are not)'
    throw new AppError('model-unavailable', `${why}: ${describe(ggufs)}`)
  }
  const memory = formatBytes(memoryBytes)
  const fitting = candidates.filter(({ sizeBytes }) => fitsMemory(sizeBytes, memoryBytes))
  const [best] = fitting.toSorted(comparePreference)
  if (best === undefined) {
    const why = `no .gguf file fits into half of the memory (${memory}); to take one anyway, name it`
    throw new AppError('model-unavailable', `${why}: ${describe(candidates)}`)
  }
  const why =
    fitting.length === 1
      ? `the only one that fits into half of the memory (${memory})`
      : `${quantizationOf(best.path) ?? 'it'} is preferred among the ${fitting.length} that fit into half of the memory (${memory})`
  return { file: best.path, why: `${formatBytes(best.sizeBytes)}, ${why}` }
}

/** Whether the name of a GGUF file shows that it is not a model but a projector, an adapter or an importance matrix. */
export function isBesideModels(name: string): boolean {
  return notModels.test(name)
}

/** The files of a repository that are models, with their quantizations, the best compromise first. */
export function variantsOf(
  files: readonly RepositoryFile[],
): readonly { readonly label: string; readonly file: RepositoryFile }[] {
  return files
    .filter(({ path }) => fileProblem(path) === undefined && !isBesideModels(nameOf(path)))
    .toSorted(comparePreference)
    .flatMap((file) => {
      const label = quantizationOf(file.path)
      return label === undefined ? [] : [{ label, file }]
    })
}

/** The quantization in the name of a file, such as `Q4_K_M`. */
export function quantizationOf(path: string): string | undefined {
  const stem = nameOf(path).replace(/\.gguf$/i, '')
  const names = stem.matchAll(/(?<=^|[-._])(?:I?Q[1-8](?:_[0-9A-Z]+)*|TQ\d_\d|MXFP4(?:_MOE)?|BF16|F(?:P)?(?:16|32))(?=[-.]|$)/gi)
  return [...names].at(-1)?.[0].toUpperCase().replace(/^FP/, 'F')
}

function comparePreference(a: RepositoryFile, b: RepositoryFile): number {
  const depth = ({ path }: RepositoryFile) => path.split('/').length
  // Among models with one quantization: the outermost, then the largest.
  return rankOf(a) - rankOf(b) || depth(a) - depth(b) || b.sizeBytes - a.sizeBytes
}

function rankOf({ path }: RepositoryFile): number {
  const rank = preferred.indexOf(quantizationOf(path) ?? '')
  return rank === -1 ? preferred.length : rank
}

const maxNamed = 40

function describe(files: readonly RepositoryFile[]): string {
  const named = files.slice(0, maxNamed).map(({ path, sizeBytes }) => `${path} (${formatBytes(sizeBytes)})`)
  const more = files.length - named.length
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
