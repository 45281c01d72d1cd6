/** Why an answer is read differently here; docs/inside/parser-decisions.md explains each reason. */
export type DifferenceReason =
  | 'after-call'
  | 'error'
  | 'other'
  | 'partial-tag'
  | 'position'
  | 'repair'
  | 'space'
  | 'start'
  | 'stray'
  | 'think-off'
  | 'thought'
  | 'trim'
  | 'types'
  | 'undeclared'
  | 'unparseable'
  | 'wrapper'

/** The answers that are read differently on purpose: by parser and reason, their numbers among the answers of the parser. */
export const parserDifferences: Readonly<Record<string, Readonly<Partial<Record<DifferenceReason, readonly number[]>>>>> = {
  'ollama cogito': {
    stray: [9, 10],
  },
  'ollama cohere': {
    stray: [1],
  },
  'ollama deepseek3': {
    'after-call': [41],
    stray: [29],
    'think-off': [10, 20, 34, 38, 40],
    thought: [4, 6, 18, 22, 28, 32, 42],
    undeclared: [31, 33],
  },
  'ollama functiongemma': {
    'after-call': [13, 14],
  },
  'ollama gemma4': {
    stray: [35, 36],
    'think-off': [3, 27, 31, 33, 41],
  },
  'ollama gemma4-no-thinking': {
    stray: [35, 36],
    'think-off': [3, 4, 27, 28, 31, 32, 33, 34, 41, 42],
  },
  'ollama glm-4.6': {
    error: [25, 26, 27, 28, 29, 30],
  },
  'ollama glm-4.7': {
    stray: [3],
    types: [1, 2, 7, 8, 9, 10],
  },
  'ollama laguna': {
    error: [17],
    repair: [11],
    'think-off': [13, 19],
    thought: [12],
  },
  'ollama lfm2': {
    'think-off': [7, 8, 9, 10, 19, 20, 23, 24, 29, 30, 33, 34, 35, 36],
  },
  'ollama lfm2-thinking': {
    'think-off': [7, 9, 19, 23, 29, 33, 35],
  },
  'ollama ministral': {
    error: [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 17, 18, 25, 26, 31, 32],
    stray: [19, 20, 21, 22],
  },
  'ollama nemotron-3-nano': {
    stray: [5, 11, 17],
    'think-off': [9],
  },
  'ollama poolside-v1': {
    error: [17],
    repair: [11],
    'think-off': [13, 19],
    thought: [12],
  },
  'ollama qwen3-coder': {
    error: [3, 4, 5, 6, 7, 8, 9, 10, 17, 18, 21, 22],
    types: [83, 84, 85, 86],
  },
  'ollama qwen3-vl-instruct': {
    error: [5, 6, 11, 12, 15, 16, 23, 24, 25, 26, 27, 28, 35, 36, 39, 40, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66],
    'partial-tag': [17, 18],
  },
  'ollama qwen3-vl-thinking': {
    error: [5, 6, 11, 12, 47, 48, 49, 50, 51, 52, 53, 54],
    stray: [7, 8],
    'think-off': [3, 4, 9, 10, 13, 14],
  },
  'ollama qwen3.5': {
    stray: [7],
  },
  'sglang Gemma4Detector': {
    space: [4, 7],
  },
  'sglang GigaChat3Detector': {
    'after-call': [11],
    repair: [4],
    types: [1, 8],
    unparseable: [3],
  },
  'sglang Glm47MoeDetector': {
    types: [2, 3],
  },
  'sglang Glm4MoeDetector': {
    types: [1],
    undeclared: [3],
  },
  'sglang HunyuanDetector': {
    'after-call': [5],
  },
  'sglang InklingDetector': {
    'after-call': [2],
    other: [3, 5],
  },
  'sglang KimiK2Detector': {
    types: [21, 23],
  },
  'sglang Lfm2Detector': {
    'after-call': [3],
    undeclared: [1, 6],
  },
  'sglang Llama32Detector': {
    unparseable: [1],
  },
  'sglang MiniCPM5Detector': {
    repair: [4, 6, 7],
    space: [3],
    unparseable: [5],
  },
  'sglang MistralDetector': {
    undeclared: [6],
  },
  'sglang PoolsideV1Detector': {
    undeclared: [8, 11],
    unparseable: [4],
  },
  'sglang PythonicDetector': {
    position: [2, 5, 6],
    space: [1],
  },
  'sglang TestFormatDetector': {
    types: [4],
    undeclared: [2],
  },
  'sglang reasoning': {
    other: [7, 10],
    start: [4, 5],
    'think-off': [19],
    thought: [1],
  },
  'smg DeepSeekParser': {
    'after-call': [1],
  },
  'smg JsonParser': {
    'after-call': [26],
    position: [24],
    repair: [9, 27, 32],
    unparseable: [5, 7, 25],
  },
  'smg LlamaParser': {
    repair: [12],
  },
  'smg MinimaxM2Parser': {
    trim: [2, 8],
  },
  'smg MistralParser': {
    'after-call': [8],
  },
  'smg PythonicParser': {
    'after-call': [9],
  },
  'smg QwenParser': {
    'after-call': [8],
  },
  'smg QwenXmlParser': {
    trim: [5],
  },
  'smg Step3Parser': {
    'after-call': [1, 5],
  },
  'smg tool_parser_deepseek_dsml': {
    other: [4],
  },
  'smg tool_parser_glm4_moe': {
    'after-call': [1],
  },
  'vllm DeepSeekV31ToolParser': {
    'after-call': [2],
  },
  'vllm DeepSeekV32ToolParser': {
    wrapper: [8],
  },
  'vllm DeepSeekV4ToolParser': {
    wrapper: [1],
  },
  'vllm Gemma4ReasoningParser': {
    stray: [1, 2],
  },
  'vllm Gemma4ToolParser': {
    unparseable: [4],
  },
  'vllm GigaChat3ToolParser': {
    'after-call': [5],
  },
  'vllm Glm4MoeModelToolParser': {
    unparseable: [5],
  },
  'vllm GraniteToolParser': {
    stray: [4],
    unparseable: [5],
  },
  'vllm KimiK2ReasoningParser': {
    thought: [2],
  },
  'vllm Llama3JsonToolParser': {
    position: [2],
  },
  'vllm LongcatFlashToolParser': {
    'after-call': [5],
  },
  'vllm MinimaxToolParser': {
    'after-call': [2],
  },
  'vllm NemotronV3ReasoningParser': {
    start: [4],
  },
  'vllm Olmo3ReasoningParser': {
    start: [2],
  },
  'vllm Qwen3ReasoningParser': {
    start: [5, 10, 15],
  },
  'vllm Qwen3XMLToolParser': {
    types: [16, 18],
  },
  'vllm xLAMToolParser': {
    'after-call': [2],
    position: [1],
  },
}
