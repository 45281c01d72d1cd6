import { fileURLToPath } from 'node:url'

/** The files that come with Dragoman: the model, and the projector with which llama-server lets it see. */
export const builtinFileNames = ['dragoman-tiny.gguf', 'dragoman-tiny-mmproj.gguf'] as const

/** The tiny model that comes with Dragoman and needs no network (training/README.md). */
export const builtinModel = { id: 'dragoman-tiny', path: pathOf('dragoman-tiny.gguf') } as const

/** The path of a file that comes with Dragoman. */
export function builtinFile(name: string): string | undefined {
  const file = builtinFileNames.find((known) => known === name)
  return file === undefined ? undefined : pathOf(file)
}

function pathOf(file: (typeof builtinFileNames)[number]): string {
  return fileURLToPath(new URL(`../../../models/${file}`, import.meta.url))
}
