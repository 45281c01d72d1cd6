import type { System } from './row.ts'
import { llamaFactory } from './systems/llama-factory.ts'
import { llamaStack } from './systems/llama-stack.ts'
import { mlc } from './systems/mlc.ts'
import { tabby } from './systems/tabby.ts'
import { unsloth } from './systems/unsloth/unsloth.ts'
import { unslothStop } from './systems/unsloth/unsloth-stop.ts'

/** In the order of the document. */
export const systems: readonly System[] = [llamaFactory, mlc, tabby, llamaStack, unsloth, unslothStop]
