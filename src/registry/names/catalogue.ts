import type { OfferedAbility } from '../../contract/server/model-offers.ts'
import { nearestName } from './near-name.ts'

/**
 * A well-known repository with open weights, from which Dragoman takes the file that suits the machine, under a short name. Sizes are
 * about those of its Q4_K_M; nothing is looked up.
 */
export type CataloguedModel = {
  /** FAMILY:SIZE. */
  readonly shortName: string
  readonly name: string
  readonly source: string
  readonly sizeBytes: number
  /** The context that it was trained for, in tokens. */
  readonly trained: number
  readonly abilities: readonly OfferedAbility[]
}

type Row = readonly [shortName: string, name: string, repository: string, sizeBytes: number, trained: number, ...OfferedAbility[]]

const rows: readonly Row[] = [
  ['deepseek-r1:7b', 'DeepSeek R1 Distill Qwen 7B', 'bartowski/DeepSeek-R1-Distill-Qwen-7B-GGUF', 4.7e9, 131_072, 'thinking'],
  ['deepseek-r1:14b', 'DeepSeek R1 Distill Qwen 14B', 'bartowski/DeepSeek-R1-Distill-Qwen-14B-GGUF', 9e9, 131_072, 'thinking'],
  ['devstral:24b', 'Devstral Small 2505', 'bartowski/mistralai_Devstral-Small-2505-GGUF', 14.3e9, 131_072, 'tools'],
  ['gemma3:1b', 'Gemma 3 1B', 'bartowski/google_gemma-3-1b-it-GGUF', 0.8e9, 32_768],
  ['gemma3:4b', 'Gemma 3 4B', 'bartowski/google_gemma-3-4b-it-GGUF', 2.5e9, 131_072, 'vision'],
  ['gemma3:12b', 'Gemma 3 12B', 'bartowski/google_gemma-3-12b-it-GGUF', 7.3e9, 131_072, 'vision'],
  ['gemma3:27b', 'Gemma 3 27B', 'bartowski/google_gemma-3-27b-it-GGUF', 16.5e9, 131_072, 'vision'],
  ['gpt-oss:20b', 'gpt-oss 20B', 'ggml-org/gpt-oss-20b-GGUF', 12.1e9, 131_072, 'thinking', 'tools'],
  ['granite3.3:8b', 'Granite 3.3 8B', 'ibm-granite/granite-3.3-8b-instruct-GGUF', 4.9e9, 131_072, 'thinking', 'tools'],
  ['llama3.1:8b', 'Llama 3.1 8B', 'bartowski/Meta-Llama-3.1-8B-Instruct-GGUF', 4.9e9, 131_072, 'tools'],
  ['llama3.2:1b', 'Llama 3.2 1B', 'bartowski/Llama-3.2-1B-Instruct-GGUF', 0.8e9, 131_072, 'tools'],
  ['llama3.2:3b', 'Llama 3.2 3B', 'bartowski/Llama-3.2-3B-Instruct-GGUF', 2e9, 131_072, 'tools'],
  ['llama3.3:70b', 'Llama 3.3 70B', 'bartowski/Llama-3.3-70B-Instruct-GGUF', 42.5e9, 131_072, 'tools'],
  ['mistral-small:24b', 'Mistral Small 2501', 'bartowski/Mistral-Small-24B-Instruct-2501-GGUF', 14.3e9, 32_768, 'tools'],
  ['nomic-embed-text:v1.5', 'Nomic Embed Text 1.5 (embeddings)', 'nomic-ai/nomic-embed-text-v1.5-GGUF', 0.1e9, 2048, 'embedding'],
  ['phi4:14b', 'Phi-4 14B', 'bartowski/phi-4-GGUF', 9.1e9, 16_384],
  ['phi4-mini:3.8b', 'Phi-4 mini 3.8B', 'bartowski/microsoft_Phi-4-mini-instruct-GGUF', 2.5e9, 131_072, 'tools'],
  ['qwen2.5-coder:7b', 'Qwen2.5 Coder 7B', 'bartowski/Qwen2.5-Coder-7B-Instruct-GGUF', 4.7e9, 32_768, 'tools'],
  ['qwen3:0.6b', 'Qwen3 0.6B', 'bartowski/Qwen_Qwen3-0.6B-GGUF', 0.5e9, 40_960, 'thinking', 'tools'],
  ['qwen3:1.7b', 'Qwen3 1.7B', 'bartowski/Qwen_Qwen3-1.7B-GGUF', 1.3e9, 40_960, 'thinking', 'tools'],
  ['qwen3:4b', 'Qwen3 4B', 'bartowski/Qwen_Qwen3-4B-GGUF', 2.5e9, 40_960, 'thinking', 'tools'],
  ['qwen3:8b', 'Qwen3 8B', 'bartowski/Qwen_Qwen3-8B-GGUF', 5e9, 40_960, 'thinking', 'tools'],
  ['qwen3:14b', 'Qwen3 14B', 'bartowski/Qwen_Qwen3-14B-GGUF', 9e9, 40_960, 'thinking', 'tools'],
  ['qwen3:30b', 'Qwen3 30B A3B', 'unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF', 18.6e9, 262_144, 'tools'],
  ['qwen3:32b', 'Qwen3 32B', 'bartowski/Qwen_Qwen3-32B-GGUF', 19.8e9, 40_960, 'thinking', 'tools'],
  ['qwen3-coder:30b', 'Qwen3 Coder 30B A3B', 'unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF', 18.6e9, 262_144, 'tools'],
  ['smollm2:1.7b', 'SmolLM2 1.7B', 'bartowski/SmolLM2-1.7B-Instruct-GGUF', 1.1e9, 8192, 'tools'],
]

/** All models of the catalogue, by short name. */
export const catalogue: readonly CataloguedModel[] = rows.map(
  ([shortName, name, repository, sizeBytes, trained, ...abilities]) => ({
    shortName,
    name,
    source: `hf:${repository}`,
    sizeBytes,
    trained,
    abilities,
  }),
)

/** The model with this short name, in any case of letters. */
export function findCatalogued(text: string): CataloguedModel | undefined {
  const wanted = text.toLowerCase()
  return catalogue.find(({ shortName }) => shortName === wanted)
}

/**
 * The short names that an unknown name may have meant: those of its family, such as `qwen3`, of families that begin with it, or of the
 * nearest one.
 */
export function relatedShortNames(name: string): readonly string[] {
  const familyOf = (shortName: string) => shortName.replace(/:.*/, '').toLowerCase()
  const names = catalogue.map(({ shortName }) => shortName)
  const wanted = familyOf(name)
  const nearest = nearestName(wanted, names.map(familyOf))
  const rules = [
    (family: string) => family === wanted,
    (family: string) => wanted.length >= shortestBeginning && family.startsWith(wanted),
    (family: string) => family === nearest,
  ]
  return rules.map((rule) => names.filter((one) => rule(familyOf(one)))).find((found) => found.length > 0) ?? []
}

const shortestBeginning = 3
