import { open } from 'node:fs/promises'
import type { ModelFileFacts } from '../../contract/server/model-file.ts'
import { type FromHeader, type GgufCursor, readHeader } from './gguf-cursor.ts'
import { type Metadata, readMetadata } from './gguf-metadata.ts'
import { leastTensorBytes } from './gguf-size.ts'
import { readFileHeader } from './read-file-header.ts'

type Described = Omit<ModelFileFacts, 'sizeBytes' | 'modifiedAtMs' | 'sha256' | 'contextLength'>

/** The facts in the header of a model's file; empty if it cannot be read. */
export async function describeGguf(path: string): Promise<Described> {
  const handle = await open(path)
  try {
    const found = await readFileHeader(handle, readDescription)
    return found.type === 'known' ? found.value : {}
  } finally {
    await handle.close()
  }
}

function readDescription(begin: Buffer): FromHeader<Described> {
  return readHeader(begin, (cursor) => {
    const tensors = cursor.count(leastTensorBytes)
    const metadata = readMetadata(cursor)
    return describe(metadata, countParameters(cursor, tensors))
  })
}

function describe(metadata: Metadata, counted: number): Described {
  const architecture = textAt(metadata, 'general.architecture')
  const ofArchitecture = (key: string) => numberAt(metadata, `${architecture}.${key}`)
  const parameterCount = numberAt(metadata, 'general.parameter_count') ?? counted
  const facts = {
    architecture,
    parameterCount: parameterCount > 0 ? parameterCount : undefined,
    sizeLabel: textAt(metadata, 'general.size_label'),
    quantization: fileTypes[numberAt(metadata, 'general.file_type') ?? -1],
    trainedContextLength: ofArchitecture('context_length'),
    embeddingLength: ofArchitecture('embedding_length'),
    layerCount: ofArchitecture('block_count'),
    license: textAt(metadata, 'general.license'),
    chatTemplate: textAt(metadata, 'tokenizer.chat_template'),
    infills: hasInfill(metadata) ? (true as const) : undefined,
    onlyEmbeds: (ofArchitecture('pooling_type') ?? 0) > 0 ? (true as const) : undefined,
  }
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as Described
}

function hasInfill(metadata: Metadata): boolean {
  const names = [
    ['fim_pre', 'fim_suf'],
    ['prefix', 'suffix'],
  ] as const
  return names.some((pair) => pair.every((name) => numberAt(metadata, `tokenizer.ggml.${name}_token_id`) !== undefined))
}

function numberAt(metadata: Metadata, key: string): number | undefined {
  const value = metadata.get(key)
  return typeof value === 'number' ? value : undefined
}

/** The cursor reads bytes as Latin-1. */
function textAt(metadata: Metadata, key: string): string | undefined {
  const value = metadata.get(key)
  return typeof value === 'string' && value !== '' ? Buffer.from(value, 'latin1').toString('utf8') : undefined
}

/** The values of all tensors; the cursor is behind the metadata. */
function countParameters(cursor: GgufCursor, tensors: number): number {
  let count = 0
  for (let index = 0; index < tensors; index += 1) {
    cursor.skip(cursor.uint64())
    const dimensions = cursor.uint32()
    let values = 1
    for (let dimension = 0; dimension < dimensions; dimension += 1) values *= cursor.uint64()
    count += values
    // The type, and where the data begins.
    cursor.skip(4 + 8)
  }
  return count
}

/** llama.cpp's numbers of quantizations. */
const fileTypes: Readonly<Record<number, string>> = {
  0: 'F32',
  1: 'F16',
  2: 'Q4_0',
  3: 'Q4_1',
  7: 'Q8_0',
  8: 'Q5_0',
  9: 'Q5_1',
  10: 'Q2_K',
  11: 'Q3_K_S',
  12: 'Q3_K_M',
  13: 'Q3_K_L',
  14: 'Q4_K_S',
  15: 'Q4_K_M',
  16: 'Q5_K_S',
  17: 'Q5_K_M',
  18: 'Q6_K',
  19: 'IQ2_XXS',
  20: 'IQ2_XS',
  21: 'Q2_K_S',
  22: 'IQ3_XS',
  23: 'IQ3_XXS',
  24: 'IQ1_S',
  25: 'IQ4_NL',
  26: 'IQ3_S',
  27: 'IQ3_M',
  28: 'IQ2_S',
  29: 'IQ2_M',
  30: 'IQ4_XS',
  31: 'IQ1_M',
  32: 'BF16',
  36: 'TQ1_0',
  37: 'TQ2_0',
  38: 'MXFP4',
}
