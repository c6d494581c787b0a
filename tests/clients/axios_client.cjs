// axios, which reads the proxy's environment by itself.
const axios = require("axios");

async function main(url) {
  const answer = await axios.get(url, { timeout: 20000 });
  console.log(answer.data);
  console.log(answer.status);
}

main(process.argv[2]);
