import { type GgufFileInfo, GgufInsights, type Llama, readGgufFileInfo } from 'node-llama-cpp'
import { messageOf } from '../../../contract/errors.ts'
import { refuseHeads } from './heads/heads-of-file.ts'
import { type Adapter, type Library, type Model as Native, openLibrary, type Vocabulary } from './library.ts'
import { type Placement, placementParams } from './placement.ts'
import { Tokenizer } from './tokenizer.ts'

/** `enum llama_lazy_mode` */
const lazyModes = { off: 0 }

export type ModelOptions = {
  readonly modelPath: string
  /** Absent: as many as the free memory allows. */
  readonly gpuLayers?: number | 'auto' | 'max' | undefined
  /** Loads the layers that predict further tokens, too. */
  readonly heads?: boolean
  /** They draft for the model of this file, and not for their own. */
  readonly headsOf?: GgufFileInfo
  /** Absent: as llama.cpp places it. */
  readonly placement?: Placement | undefined
  /** The file is read instead of mapped. */
  readonly noMmap?: boolean | undefined
  readonly onLoadProgress?: ((progress: number) => void) | undefined
}

type Parts = {
  readonly llama: Llama
  readonly library: Library
  readonly native: Native
  readonly fileInfo: GgufFileInfo
  readonly fileInsights: GgufInsights
  readonly gpuLayers: number
}

/** A model file in memory. */
export class Model extends Tokenizer {
  readonly llama: Llama
  readonly library: Library
  readonly native: Native
  readonly vocabulary: Vocabulary
  readonly fileInfo: GgufFileInfo
  readonly fileInsights: GgufInsights
  readonly gpuLayers: number
  readonly trainContextSize: number
  readonly typeDescription: string
  readonly embeddingVectorSize: number
  readonly #adapters = new Map<string, Adapter>()
  readonly #disposals: (() => Promise<void>)[] = []

  private constructor(parts: Parts) {
    const { llama, library, native, fileInfo, fileInsights, gpuLayers } = parts
    const vocabulary = library.vocabularyOf(native)
    super(library, vocabulary)
    this.llama = llama
    this.library = library
    this.native = native
    this.vocabulary = vocabulary
    this.fileInfo = fileInfo
    this.fileInsights = fileInsights
    this.gpuLayers = gpuLayers
    this.trainContextSize = library.trainedContext(native)
    this.embeddingVectorSize = library.vectorLength(native)
    const description = Buffer.alloc(256)
    this.typeDescription = description.toString('utf8', 0, library.describe(native, description, description.length))
  }

  /** llama.cpp logs why a model cannot be loaded. */
  static async load(
    llama: Llama,
    {
      modelPath,
      gpuLayers,
      headsOf,
      heads = headsOf !== undefined,
      placement = {},
      noMmap = false,
      onLoadProgress,
    }: ModelOptions,
  ): Promise<Model> {
    const library = openLibrary()
    const fileInfo = await readFile(modelPath)
    if (heads) refuseHeads(fileInfo, headsOf)
    const fileInsights = await GgufInsights.from(fileInfo, llama)
    const placed = await fileInsights.configurationResolver.resolveModelGpuLayersV2(gpuLayers, {
      useMmap: llama.supportsMmap && !noMmap ? 'auto' : false,
    })
    const placing = placementParams(library, placement, { maps: placed.useMmap })
    const params = {
      ...library.modelDefaults(),
      ...placing.params,
      n_gpu_layers: placed.gpuLayers,
      lazy_mode: lazyModes.off,
      load_mtp: heads,
    }
    const native = await library.loadModel(modelPath, params, (done) => onLoadProgress?.(done))
    placing.release()
    if (native === null) throw new Error('Failed to load model')
    return new Model({ llama, library, native, fileInfo, fileInsights, gpuLayers: placed.gpuLayers })
  }

  /** Runs before the model is freed, for what still uses it. */
  onDispose(dispose: () => Promise<void>): void {
    this.#disposals.push(dispose)
  }

  /** A LoRA adapter in GGUF, which is read once. */
  async adapter(path: string): Promise<Adapter> {
    const known = this.#adapters.get(path)
    if (known !== undefined) return known
    const read = await this.library.loadAdapter.inThread(this.native, path)
    if (read === null) throw new Error(`Failed to initialize LoRA adapter "${path}"`)
    this.#adapters.set(path, read)
    return read
  }

  /** The model may not be used afterwards. */
  async dispose(): Promise<void> {
    for (const dispose of this.#disposals) await dispose()
    this.library.freeModel(this.native)
  }
}

async function readFile(modelPath: string): Promise<GgufFileInfo> {
  try {
    return await readGgufFileInfo(modelPath, { sourceType: 'filesystem', logWarnings: false })
  } catch (cause) {
    throw new Error(`${modelPath} is damaged or not a readable GGUF file (${messageOf(cause)}); fetch it again`, { cause })
  }
}
