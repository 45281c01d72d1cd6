import { open } from 'node:fs/promises'
import { partsOf } from '../names/split-model.ts'
import { type FromHeader, readHeader } from './gguf-cursor.ts'
import { readMetadata } from './gguf-metadata.ts'
import { leastTensorBytes, readTensor } from './gguf-size.ts'
import { readFileHeader } from './read-file-header.ts'

/** The bytes of a model's weights: of each layer, and the part of it that experts have; of the output; of the rest. */
type GgufWeights = {
  readonly layers: readonly { readonly bytes: number; readonly expertBytes: number }[]
  readonly outputBytes: number
}

type Tensor = { readonly name: string; readonly bytes: number }

/** As llama.cpp's `--n-cpu-moe` finds them. */
const ofExperts = /\.ffn_(up|down|gate|gate_up)_(ch|)exps/

/** The weights of a file, or of all parts of a split one; undefined if the header of one cannot be read. */
export async function readWeights(path: string): Promise<GgufWeights | undefined> {
  const tensors: Tensor[] = []
  for (const part of partsOf(path).parts) {
    const handle = await open(part)
    try {
      const found = await readFileHeader(handle, readTensors)
      if (found.type !== 'known') return undefined
      tensors.push(...found.value)
    } finally {
      await handle.close()
    }
  }
  return weightsOf(tensors)
}

/** The tensors in a header, which are its end. */
export function readTensors(begin: Buffer): FromHeader<readonly Tensor[]> {
  return readHeader(begin, (cursor) => {
    const count = cursor.count(leastTensorBytes)
    readMetadata(cursor)
    return Array.from({ length: count }, () => readTensor(cursor))
  })
}

function weightsOf(tensors: readonly Tensor[]): GgufWeights {
  const layers: { bytes: number; expertBytes: number }[] = []
  let [outputBytes, tokenBytes] = [0, 0]
  for (const { name, bytes } of tensors) {
    const layer = /^blk\.(\d{1,4})\./.exec(name)?.[1]
    if (layer !== undefined) {
      const one = layers[Number(layer)] ?? { bytes: 0, expertBytes: 0 }
      layers[Number(layer)] = one
      one.bytes += bytes
      if (ofExperts.test(name)) one.expertBytes += bytes
    } else if (name.startsWith('output')) outputBytes += bytes
    else if (name === 'token_embd.weight') tokenBytes = bytes
  }
  // Without output weights, those of the tokens are copied. A list of layers may have gaps.
  return {
    layers: Array.from(layers, (layer) => layer ?? { bytes: 0, expertBytes: 0 }),
    outputBytes: tensors.some(({ name }) => name === 'output.weight') ? outputBytes : outputBytes + tokenBytes,
  }
}
