import { readFile, writeFile } from 'node:fs/promises'

const key = Buffer.from('.context_length')

/** Copies a GGUF file, with another number of tokens that its model is said to be trained for. */
export async function writeTrainedFor(path: string, { from, tokens }: { from: string; tokens: number }): Promise<void> {
  const bytes = await readFile(from)
  // Behind the key come the type of its value and the value.
  const at = bytes.indexOf(key) + key.length + 4
  if (at < key.length + 4) throw new Error(`${from} has no ${key}`)
  bytes.writeUInt32LE(tokens, at)
  await writeFile(path, bytes)
}
