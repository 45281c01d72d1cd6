import { readGgufFileInfo } from 'node-llama-cpp'
import { messageOf } from '../../../../contract/errors.ts'
import { assistant } from '../../binding/heads/assistant-of-file.ts'
import type { LoadOptions } from '../../channel/ipc.ts'

/** How layers that were trained for it draft, of the model's file or of another one. */
export type HeadPlan = {
  readonly kind: 'mtp' | 'eagle3'
  readonly file?: Pick<NonNullable<LoadOptions['draft']>, 'modelPath' | 'gpuLayers'>
  readonly maxTokens: number
  readonly minTokens: number
  readonly minProbability: number
  /** Without measuring whether it is faster. */
  readonly always: boolean
}

/** As in the configuration: longer drafts are rejected too often. */
const usualTokens = 3

/** Absent: something else drafts, or nothing. Throws for a file that is not what the settings say. */
export async function planHeads({ speculation, draft }: LoadOptions): Promise<HeadPlan | undefined> {
  if (speculation?.type === 'mtp') return { kind: 'mtp', minTokens: 0, ...speculation, always: speculation.always === true }
  if (draft === undefined) return undefined
  const { modelPath, type, maxTokens = usualTokens, minTokens = 0, minProbability = 0, always = false } = draft
  const architecture = await architectureOf(modelPath)
  const kind = architecture === 'eagle3' ? 'eagle3' : type === 'mtp' || architecture === assistant ? 'mtp' : undefined
  if (type !== undefined && kind !== type) {
    throw new Error(`the draft model '${modelPath}' is of the architecture ${architecture}, and not of the type ${type}`)
  }
  return kind && { kind, file: draft, maxTokens, minTokens, minProbability, always }
}

async function architectureOf(path: string): Promise<string> {
  try {
    const { metadata } = await readGgufFileInfo(path, { sourceType: 'filesystem', logWarnings: false, readTensorInfo: false })
    return metadata.general.architecture
  } catch (cause) {
    throw new Error(`the draft model '${path}' cannot be used: ${messageOf(cause)}`, { cause })
  }
}
