import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createNormal } from '../normal.ts'
import { encodeGguf, type GgufTensor, type GgufValue } from './gguf-writer.ts'

/**
 * How it makes vectors of pictures: `mlp`, the same number of each; `gemma3`, whose vectors see each other; `qwen2vl_merger`, more of larger
 * pictures, in a grid.
 */
export type ProjectorType = 'mlp' | 'gemma3' | 'qwen2vl_merger'

/** `embeddingLength`: that of the model, which the projector writes; that of `random-gguf.ts` unless given. */
type ProjectorOptions = {
  readonly embeddingLength?: number
  readonly type?: ProjectorType
  /** A larger encoder of pictures, for measurements. */
  readonly encoder?: Omit<Encoder, 'prefix'>
  /** To how many pixels pictures are scaled, and in patches of how many they are read. */
  readonly picture?: PictureSize
}

type PictureSize = { readonly size: number; readonly patch: number }
type Encoder = {
  readonly prefix: 'v' | 'a'
  readonly width: number
  readonly feedForward: number
  readonly layers: number
  readonly heads: number
}

/** Tokens of any image: it is scaled to 32 × 32 pixels, and read in patches of 8 × 8. */
export const tokensPerImage = 16

const smallPicture = { size: 32, patch: 8 }
const smallEncoder = { width: 32, feedForward: 64, layers: 2, heads: 2 }
const audio: Encoder = { prefix: 'a', width: 16, feedForward: 32, layers: 1, heads: 2 }
const melBins = 80
const audioPositions = 1500

/**
 * Writes a multimodal projector with random weights that llama-server loads: images and sounds reach the model, which makes no sense of
 * them. Equal pictures give equal tokens, and different ones different embeddings.
 */
export async function writeRandomProjector(path: string, options: ProjectorOptions = {}): Promise<void> {
  const { embeddingLength = 64, type = 'mlp', encoder = smallEncoder, picture = smallPicture } = options
  const eye: Eye = { type, picture, encoder: { prefix: 'v', ...encoder } }
  const weights = new Weights()
  const tensors = [...visionTensors(weights, embeddingLength, eye), ...audioTensors(weights, embeddingLength)]
  await mkdir(dirname(path), { recursive: true })
  await writeFile(`${path}.tmp`, encodeGguf(metadata(embeddingLength, eye), tensors))
  await rename(`${path}.tmp`, path)
}

type Eye = { readonly type: ProjectorType; readonly picture: PictureSize; readonly encoder: Encoder }

function metadata(embeddingLength: number, { type, picture, encoder: vision }: Eye): Map<string, GgufValue> {
  const text = (value: string): GgufValue => ({ type: 'string', value })
  const uint32 = (value: number): GgufValue => ({ type: 'uint32', value })
  const yes: GgufValue = { type: 'bool', value: true }
  const encoder = (name: string, { width, feedForward, layers, heads }: Encoder): [string, GgufValue][] => [
    [`clip.${name}.embedding_length`, uint32(width)],
    [`clip.${name}.feed_forward_length`, uint32(feedForward)],
    [`clip.${name}.block_count`, uint32(layers)],
    [`clip.${name}.attention.head_count`, uint32(heads)],
    [`clip.${name}.attention.layer_norm_epsilon`, { type: 'float32', value: 1e-5 }],
    [`clip.${name}.projection_dim`, uint32(embeddingLength)],
  ]
  const half: GgufValue = { type: 'float32s', value: [0.5, 0.5, 0.5] }
  return new Map<string, GgufValue>([
    ['general.architecture', text('clip')],
    ['general.type', text('mmproj')],
    ['general.name', text('dragoman-random-projector')],
    ['general.file_type', uint32(0)],
    ['clip.has_vision_encoder', yes],
    ['clip.has_audio_encoder', yes],
    ['clip.use_gelu', yes],
    ['clip.vision.projector_type', text(type)],
    ...(type === 'mlp' ? [] : [['clip.vision.projector.scale_factor', uint32(1)] as [string, GgufValue]]),
    ['clip.audio.projector_type', text('qwen2a')],
    ...encoder('vision', vision),
    ['clip.vision.image_size', uint32(picture.size)],
    ['clip.vision.patch_size', uint32(picture.patch)],
    ['clip.vision.image_mean', half],
    ['clip.vision.image_std', half],
    ...encoder('audio', audio),
    ['clip.audio.num_mel_bins', uint32(melBins)],
  ])
}

function visionTensors(weights: Weights, embeddingLength: number, { type, picture, encoder }: Eye): GgufTensor[] {
  const { width, prefix, layers } = encoder
  const patches = (picture.size / picture.patch) ** 2
  const patch = (name: string) => weights.random(name, [picture.patch, picture.patch, 3, width], 0.2)
  switch (type) {
    case 'mlp':
      return [
        patch('v.patch_embd.weight'),
        weights.random('v.class_embd', [width]),
        weights.random('v.position_embd.weight', [width, patches + 1]),
        ...weights.norm('v.pre_ln', width),
        ...blocks(weights, encoder),
        ...weights.norm('v.post_ln', width),
        // Larger than usual, so that what an image shows decides what comes next.
        ...weights.linear('mm.0', width, embeddingLength, 0.5),
        ...weights.linear('mm.2', embeddingLength, embeddingLength, 0.5),
      ]
    case 'gemma3':
      return [
        patch('v.patch_embd.weight'),
        weights.random('v.position_embd.weight', [width, patches]),
        ...blocks(weights, encoder),
        ...weights.norm('v.post_ln', width),
        weights.random('mm.input_projection.weight', [embeddingLength, width], 0.5),
        weights.fill('mm.soft_emb_norm.weight', [width], 1),
      ]
    case 'qwen2vl_merger':
      return [
        patch('v.patch_embd.weight'),
        patch('v.patch_embd.weight.1'),
        ...blocks(weights, encoder),
        ...Array.from({ length: layers }, (_, layer) => weights.fill(`${prefix}.blk.${layer}.attn_k.bias`, [width], 0)),
        ...weights.norm('v.post_ln', width),
        // Of four patches together.
        ...weights.linear('mm.0', 4 * width, 4 * width, 0.5),
        ...weights.linear('mm.2', 4 * width, embeddingLength, 0.5),
      ]
  }
}

function audioTensors(weights: Weights, embeddingLength: number): GgufTensor[] {
  const { width } = audio
  return [
    weights.random('a.conv1d.1.weight', [3, melBins, width]),
    weights.fill('a.conv1d.1.bias', [1, width], 0),
    weights.random('a.conv1d.2.weight', [3, width, width]),
    weights.fill('a.conv1d.2.bias', [1, width], 0),
    weights.random('a.position_embd.weight', [width, audioPositions]),
    ...blocks(weights, audio),
    ...weights.norm('a.post_ln', width),
    ...weights.linear('mm.a.fc', width, embeddingLength, 0.5),
  ]
}

function blocks(weights: Weights, { prefix, width, feedForward, layers }: Encoder): GgufTensor[] {
  return Array.from({ length: layers }, (_, layer) => `${prefix}.blk.${layer}`).flatMap((block) => [
    ...['attn_q', 'attn_v', 'attn_out'].flatMap((name) => weights.linear(`${block}.${name}`, width, width)),
    // Without a bias, which the audio encoder must not have.
    weights.random(`${block}.attn_k.weight`, [width, width], 0.1),
    ...weights.norm(`${block}.ln1`, width),
    ...weights.norm(`${block}.ln2`, width),
    ...weights.linear(`${block}.ffn_up`, width, feedForward),
    ...weights.linear(`${block}.ffn_down`, feedForward, width),
  ])
}

class Weights {
  readonly #next = createNormal(1)

  random(name: string, shape: readonly number[], scale = 0.05): GgufTensor {
    return { name, shape, data: Float32Array.from({ length: sizeOf(shape) }, () => this.#next() * scale) }
  }

  fill(name: string, shape: readonly number[], value: number): GgufTensor {
    return { name, shape, data: new Float32Array(sizeOf(shape)).fill(value) }
  }

  linear(name: string, inputs: number, outputs: number, scale = 0.1): GgufTensor[] {
    return [this.random(`${name}.weight`, [inputs, outputs], scale), this.fill(`${name}.bias`, [outputs], 0)]
  }

  norm(name: string, width: number): GgufTensor[] {
    return [this.fill(`${name}.weight`, [width], 1), this.fill(`${name}.bias`, [width], 0)]
  }
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1)
}
