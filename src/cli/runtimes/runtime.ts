import { installedLlamaPackage } from '../../app/models/llama-package.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { findBackend } from '../../engine/llama/find-backend.ts'
import { builtinModel } from '../../registry/names/builtin-model.ts'
import { findProgram } from '../../registry/names/find-program.ts'
import { formatBytes } from '../../registry/names/format-bytes.ts'
import { buildsFor, type Gpu } from '../../registry/runtimes/builds.ts'
import { getRuntime } from '../../registry/runtimes/get-runtime.ts'
import { listRuntimes, removeRuntime, runtimeInUse, useRuntime } from '../../registry/runtimes/installed.ts'
import { findRelease } from '../../registry/runtimes/release.ts'
import { whileShown } from '../servers/fetch-shown.ts'
import { commandName } from '../terminal/command-name.ts'
import { formatTable } from '../terminal/table.ts'

type Config = Pick<LoadedConfig, 'home' | 'runtimes'>

/** Prints the builds of llama.cpp in the data folder; with `offered`, those of the newest release for this machine. */
export async function listInstalled({ home, runtimes: { source } }: Config, { offered }: { offered: boolean }): Promise<void> {
  if (offered) {
    const release = await findRelease(undefined, { source })
    const rows = buildsFor(release, process).map(({ name, kind, archives }) => {
      return [name, kind, formatBytes(archives.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0))]
    })
    console.log(formatTable(['OFFERED', 'BUILD', 'TO FETCH'], rows))
    return
  }
  const all = listRuntimes(home)
  const inUse = runtimeInUse(home)?.name
  const rows = all.map(({ name, sizeBytes, program }) => [name, name === inUse ? 'in use' : '-', formatBytes(sizeBytes), program])
  console.log(formatTable(['RUNTIME', 'STATE', 'SIZE', 'PROGRAM'], rows))
  if (all.length === 0) console.error(`none was fetched yet: \`${commandName} runtime get\` fetches the newest for this machine`)
  if (inUse !== undefined) return
  const onPath = findProgram('llama-server', process.env.PATH)
  console.error(`\`llama-server\` models without \`binary\` run on ${onPath ?? 'llama-server of PATH, where there is none'}`)
}

type Wanted = { readonly version: string | undefined; readonly build: string | undefined }

/** Fetches a build, and makes it the one in use if none is. */
export async function get({ home, runtimes: { source } }: Config, { version, build }: Wanted): Promise<void> {
  const gpu = build === undefined ? await findGpu(home) : 'none'
  const runtime = await whileShown(({ signal, progress }) =>
    getRuntime({
      ...{ home, source, version, build, gpu, signal },
      onProgress: (name, { receivedBytes, totalBytes }) => progress.update(`fetching ${name}`, receivedBytes, totalBytes),
      onNote: (note) => progress.note(note),
    }),
  )
  console.log(runtime.program)
  const inUse = runtimeInUse(home)
  if (inUse === undefined) await use({ home }, runtime.name)
  else if (inUse.name !== runtime.name) {
    console.error(`${inUse.name} stays in use; \`${commandName} runtime use ${runtime.name}\` changes that`)
  }
}

/** Makes a build the one in use. */
export async function use({ home }: Pick<Config, 'home'>, name: string): Promise<void> {
  await useRuntime(name, home)
  const what = runtimeInUse(home)?.name ?? 'the llama-server on PATH'
  console.error(`${what} runs \`llama-server\` models without \`binary\` from their next load on`)
}

/** Deletes a build. */
export async function remove({ home }: Pick<Config, 'home'>, name: string): Promise<void> {
  const { sizeBytes, wasInUse } = await removeRuntime(name, home)
  console.log(`removed ${name}: ${formatBytes(sizeBytes)} are free`)
  if (wasInUse) console.error(`it was in use: \`llama-server\` models without \`binary\` run on the llama-server on PATH now`)
}

/** The GPU that the embedded engine finds; without that engine, none. */
async function findGpu(home: string): Promise<Gpu> {
  const enginePath = await installedLlamaPackage(home)
  if (enginePath === 'missing') return process.platform === 'darwin' && process.arch === 'arm64' ? 'metal' : 'none'
  const backend = await findBackend({
    modelPath: builtinModel.path,
    enginePath: enginePath === 'beside' ? undefined : enginePath,
  })
  const gpu = 'failure' in backend ? 'none' : backend.gpu
  return gpu === 'cuda' || gpu === 'vulkan' || gpu === 'metal' ? gpu : 'none'
}
