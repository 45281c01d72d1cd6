import type { LlamaContext } from 'node-llama-cpp'

type Decode = () => Promise<void>
type Add = (sequence: number, ...rest: unknown[]) => unknown
type Inside = { readonly _ctx: { readonly decodeBatch: Decode; readonly addToBatch: Add } }

/**
 * The sequences of each batch that llama.cpp computes from now on, in the order in which it is given them. `onPass` is called with them
 * just before the last of them is computed.
 */
export function watchPasses(context: LlamaContext, onPass: (passes: number[][]) => void = () => undefined): number[][] {
  const native = (context as unknown as Inside)._ctx
  const [decode, add] = [native.decodeBatch.bind(native), native.addToBatch.bind(native)]
  const passes: number[][] = []
  let next: number[] = []
  const addToBatch: Add = (sequence, ...rest) => {
    next.push(sequence)
    return add(sequence, ...rest)
  }
  const decodeBatch: Decode = () => {
    passes.push(next)
    next = []
    onPass(passes)
    return decode()
  }
  Object.defineProperties(native, { addToBatch: { value: addToBatch }, decodeBatch: { value: decodeBatch } })
  return passes
}
