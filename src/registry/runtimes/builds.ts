import { AppError } from '../../contract/errors.ts'

/** A file of a release. */
export type Asset = { readonly name: string; readonly sizeBytes: number; readonly sha256?: string }

/** A release of llama.cpp: its tag, such as b9993, and its files. */
export type Release = { readonly version: string; readonly assets: readonly Asset[] }

/** One build of a release for a machine: archives that are unpacked into one folder. */
export type Build = {
  /** Such as `b9993-vulkan`. */
  readonly name: string
  readonly version: string
  /** `cpu`, `metal`, `vulkan`, `cuda-13.3`, `rocm-7.2` …, as the release names it. */
  readonly kind: string
  readonly archives: readonly Asset[]
}

/** What llama.cpp computes on, besides the CPU. */
export type Gpu = 'cuda' | 'vulkan' | 'metal' | 'none'

type Machine = { readonly platform: string; readonly arch: string }

const systems: Readonly<Record<string, string>> = { linux: 'ubuntu', darwin: 'macos', win32: 'win' }

/** The builds of a release that run on a machine; of a kind with several versions, the newest first. */
export function buildsFor({ version, assets }: Release, { platform, arch }: Machine): readonly Build[] {
  const system = systems[platform]
  const begin = `llama-${version}-bin-${system}-`
  const names = assets.flatMap((asset) => {
    const stem = asset.name.replace(/\.(tar\.gz|zip)$/, '')
    if (system === undefined || stem === asset.name || !stem.startsWith(begin) || !`-${stem}`.endsWith(`-${arch}`)) return []
    const between = stem.slice(begin.length, stem.length - arch.length).replace(/-$/, '')
    const kind = between === '' ? (platform === 'darwin' && arch === 'arm64' ? 'metal' : 'cpu') : kindOf(between)
    // CUDA's own libraries are an archive beside it.
    const libraries = assets.find(({ name }) => name === `cudart-llama-bin-${system}-${between}-${arch}.zip`)
    return [{ name: `${version}-${kind}`, version, kind, archives: [asset, ...(libraries === undefined ? [] : [libraries])] }]
  })
  return names.toSorted((a, b) => b.kind.localeCompare(a.kind, 'en', { numeric: true }))
}

/** ROCm is called HIP on Windows. */
function kindOf(text: string): string {
  return text.replace(/^hip(-.*)?$/, 'rocm')
}

/** Kinds that use a GPU, the best first: without a build for CUDA, its GPUs run on Vulkan. */
const kindsOn: Readonly<Record<Gpu, readonly string[]>> = {
  cuda: ['cuda', 'vulkan', 'cpu'],
  vulkan: ['vulkan', 'cpu'],
  metal: ['metal', 'cpu'],
  // The build for macOS on ARM runs on the CPU, too.
  none: ['cpu', 'metal'],
}

/** The build with a name such as `cuda` or `cuda-13.3`; without a name, the best for a GPU. Throws `invalid-request` with those there are. */
export function chooseBuild(
  builds: readonly Build[],
  { wanted, gpu, version, machine }: { wanted?: string | undefined; gpu: Gpu; version: string; machine: Machine },
): Build {
  const find = (kind: string) => builds.find((build) => build.kind === kind || build.kind.startsWith(`${kind}-`))
  const [found] = (wanted === undefined ? kindsOn[gpu] : [wanted]).flatMap((kind) => find(kind) ?? [])
  if (found !== undefined) return found
  const here = `${machine.platform} ${machine.arch}`
  const kinds = builds.map(({ kind }) => kind).join(', ')
  const what = wanted === undefined ? 'no build' : `no build '${wanted}'`
  const others = kinds === '' ? '; build a llama-server yourself, and name it as `binary`' : `: it has ${kinds}`
  throw new AppError('invalid-request', `the release ${version} of llama.cpp has ${what} for ${here}${others}`)
}
