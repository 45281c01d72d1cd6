/** More bytes than any token of a vocabulary has: the longest are runs of 128 spaces. A text's length bounds its tokens with it. */
export const maxTokenBytes = 256
