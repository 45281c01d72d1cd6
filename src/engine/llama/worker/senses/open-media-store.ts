import { readGgufFileInfo } from 'node-llama-cpp'
import { messageOf } from '../../../../contract/errors.ts'
import type { Context } from '../../binding/context.ts'
import { Senses } from '../../binding/senses.ts'
import type { LoadOptions } from '../../channel/ipc.ts'
import { type FetchMedia, MediaStore } from './media-store.ts'

/** `GGML_LOG_LEVEL_ERROR` */
const errorLevel = 4
/** What their vectors mean depends on the prompt in front of them: the number of its pictures, or of its tokens. */
const dependent = ['hunyuanvl', 'deepseek4v']

type Opening = { readonly threads: number; readonly fetch: FetchMedia; readonly log: (message: string) => void }

/** Loads the projector of a model, to run where the layers of the model do; undefined without one, or without the library. */
export async function openMediaStore(
  context: Context,
  { mmprojPath: projectorPath, sensesPath: libraryPath }: LoadOptions,
  { threads, fetch, log }: Opening,
): Promise<MediaStore | undefined> {
  if (projectorPath === undefined || libraryPath === undefined) return undefined
  const { model } = context
  const reasons: string[] = []
  const onLog = (level: number, message: string) => {
    if (level === errorLevel) reasons.push(message.replace(/^[\w:~]+: (error: )?/, '').trim())
  }
  try {
    await refuseDependent(projectorPath)
    const usesGpu = model.gpuLayers > 0
    return new MediaStore(await Senses.load(model, { libraryPath, projectorPath, threads, usesGpu, onLog }), {
      context,
      fetch,
      log,
    })
  } catch (error) {
    if (error instanceof UnsupportedProjector) throw error
    const why = reasons.length === 0 ? '' : `: ${reasons.join('; ')}`
    throw new Error(`${messageOf(error)}${why}; set \`mmproj\` to the projector that belongs to the model`, { cause: error })
  }
}

class UnsupportedProjector extends Error {}

async function refuseDependent(path: string): Promise<void> {
  const { metadata } = await readGgufFileInfo(path, { sourceType: 'filesystem', logWarnings: false, readTensorInfo: false })
  const { clip } = metadata as {
    readonly clip?: { readonly projector_type?: unknown; readonly vision?: { readonly projector_type?: unknown } }
  }
  const type = dependent.find((each) => each === clip?.projector_type || each === clip?.vision?.projector_type)
  if (type === undefined) return
  throw new UnsupportedProjector(
    `the embedded engine does not read pictures with a projector of type '${type}': serve the model with a llama-server (engine: ` +
      'llama-server), or set `mmproj: none` for texts only',
  )
}
